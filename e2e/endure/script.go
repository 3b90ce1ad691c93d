package endure

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Act is something that happens in a campaign.
type Act struct {
	// Name is a key of the acts.
	Name string
	// At is when it begins, from the start of the campaign, and For how long it lasts, if it lasts.
	At, For time.Duration
	// Pick seeds the choices inside the act: what exists then depends on timing.
	Pick uint64
}

// longest is above the 15 s of a lease, so that a program that is paused may lose it.
const longest = 25 * time.Second

// Script chooses acts for a time, one every pace on average, each name as often as its weight says. At high rates most
// acts are short, since a target has one at a time. The same input has the same result.
func Script(seed uint64, length, pace time.Duration, weights map[string]int, rate int) []Act {
	random := rand.New(rand.NewPCG(seed, 0))
	var names []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		names = append(names, slices.Repeat([]string{name}, weights[name])...)
	}
	var script []Act
	for at := time.Duration(0); at < length; at += time.Duration(random.Int64N(int64(2 * pace))) {
		script = append(script, Act{
			Name: names[random.IntN(len(names))], At: at, Pick: random.Uint64(),
			For: time.Second + time.Duration(math.Pow(random.Float64(), float64(rate))*float64(longest-time.Second)),
		})
	}
	return script
}
