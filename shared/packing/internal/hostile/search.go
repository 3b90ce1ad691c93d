package hostile

import (
	"math/rand/v2"
	"slices"
)

// Draw makes a case.
func Draw(random *rand.Rand) Case {
	c := Case{
		Nodes: MaxNodes, Width: 16, Racks: 64, Devices: 8, CPU: 64_000, Kinds: 1, Large: 1, Heavy: 1, Excluded: 50, Pinned: 1,
		Pods: MaxPods, Mix: 1, Minimum: 100, MinSubgroup: 100,
	}
	for range 12 {
		c = c.Changed(random)
	}
	return c
}

// Changed is the case with one thing changed.
func (c Case) Changed(random *rand.Rand) Case {
	one := func(of ...int) int { return of[random.IntN(len(of))] }
	// around doubles or halves a number, or moves it a little, within bounds.
	around := func(n, low, high int) int {
		n = one(n*2, n/2, n+1, n-1, n+n/8, n-n/8, low, high)
		return min(max(n, low), high)
	}
	pod := func(n int64, high int) int64 { return int64(around(int(n), 1, high)) }
	changes := []func(){
		func() { c.Seed = random.Uint64N(1000) },
		func() { c.Nodes = around(c.Nodes, 1, MaxNodes) },
		func() { c.Width = around(c.Width, 1, 256) },
		func() { c.Racks = around(c.Racks, 1, 256) },
		func() { c.Devices = pod(c.Devices, 64) },
		func() { c.CPU = pod(c.CPU, 256_000) },
		func() { c.Spread = one(0, 10, 50, 90, 100) },
		func() { c.Empty = one(0, 0, 50, 90, 99) },
		func() { c.Kinds = around(c.Kinds, 1, MaxPods) },
		func() { c.Large = pod(c.Large, 64) },
		func() { c.Heavy = pod(c.Heavy, 256_000) },
		func() { c.Filter = []string{"", "one", "own", "pinned"}[random.IntN(4)] },
		func() { c.Excluded = one(1, 50, 90, 99) },
		func() { c.Pinned = one(1, 2, 8, 32, 64) },
		func() { c.Groups = around(c.Groups, 0, MaxPods) },
		func() { c.Inner = around(c.Inner, 0, 64) },
		func() { c.Pods = around(c.Pods, 1, MaxPods) },
		func() { c.Mix = around(c.Mix, 1, MaxPods) },
		func() { c.Minimum = one(100, 99, 90, 50, 10, 0) },
		func() { c.MinSubgroup = one(100, 99, 90, 50, 10) },
		func() { c.Running = one(0, 1, 50, 100, 1000) },
		func() { c.Root = random.IntN(8) },
		func() { c.Middle = random.IntN(8) },
		func() { c.Leaf = random.IntN(8) },
	}
	for range one(1, 1, 2, 3) {
		changes[random.IntN(len(changes))]()
	}
	c.Groups = min(c.Groups, MaxPods/max(1, c.Inner))
	return c
}

// Find is a case and how bad it is.
type Find struct {
	Case  Case    `json:"case"`
	Score float64 `json:"score"`
}

// Search climbs from one case to worse ones, and begins anew where it finds none
// for a while. It keeps the worst of each climb, worst first, for as long as more
// says so.
type Search struct {
	Random *rand.Rand
	// Judge says how bad a case is.
	Judge func(Case) float64
	Finds []Find
}

// giveUp is after how many changes in vain a climb ends.
const giveUp = 60

// Climb makes one climb.
func (s *Search) Climb(more func() bool) {
	best := Find{Case: Draw(s.Random)}
	best.Score = s.Judge(best.Case)
	for vain := 0; vain < giveUp && more(); vain++ {
		next := Find{Case: best.Case.Changed(s.Random)}
		if next.Score = s.Judge(next.Case); next.Score > best.Score {
			if next.Score > best.Score*1.02 {
				vain = 0
			}
			best = next
		}
	}
	s.Finds = append(s.Finds, best)
	slices.SortStableFunc(s.Finds, func(a, b Find) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
}
