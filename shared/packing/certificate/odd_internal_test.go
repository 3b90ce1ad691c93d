package certificate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whether a number of items may come is what trying each way to share them out says.
func TestNumbersThatMayComeAreThoseOfAllWaysToShareThemOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	may, never := 0, 0
	for range 20_000 {
		base, room := make([]int64, 1+random.IntN(4)), []int64{}
		for domain := range base {
			base[domain] = max(0, random.Int64N(6)-2)
			room = append(room, random.Int64N(4))
		}
		least := random.Int64N(7)
		most := least + random.Int64N(3)
		v := &verifier{Model: &Model{memory: memory{limit: MaxSteps}}}
		got, want := v.fillsUp(base, room, least, most) || v.evens(base, room, least, most), waysToShare(base, room, least, most)
		if got != want {
			t.Fatalf("%v with room for %v, %d to %d items: %v, and trying says %v", base, room, least, most, got, want)
		}
		if want {
			may++
		} else {
			never++
		}
	}
	if may < 2000 || never < 2000 {
		t.Errorf("%d numbers may come, and %d never", may, never)
	}
}

// waysToShare reports whether any way to let a number of items into domains leaves them as a relation wants them: see placement.checkEven.
func waysToShare(base, room []int64, least, most int64) bool {
	after := slices.Clone(base)
	var try func(domain int, come int64) bool
	try = func(domain int, come int64) bool {
		if domain < len(base) {
			for n := range room[domain] + 1 {
				after[domain] = base[domain] + n
				if try(domain+1, come+n) {
					return true
				}
			}
			return false
		}
		was, each := slices.Max(base), slices.Max(after)
		lacks := missing(after, each)
		return least <= come && come <= most && (come == 0 || lacks == 0 || each == was && lacks <= missing(base, each))
	}
	return try(0, 0)
}

// However many each domain has to have, one more with items lacks more, and an item more less.
func TestWhatIsMissingIsNotTooMuchToSay(t *testing.T) {
	for _, each := range []int64{5, math.MaxInt64} {
		lacks := missing([]int64{1, 1, 1, 0}, each)
		if more := missing([]int64{1, 1, 1, 1}, each); more <= lacks {
			t.Errorf("of %d each four domains lack %d, three %d", each, more, lacks)
		}
		if less := missing([]int64{1, 2, 1, 0}, each); less != lacks-1 {
			t.Errorf("of %d each %d are missing after one more, %d before", each, less, lacks)
		}
	}
}
