package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"packtree.dev/shared/packing/internal/counts"
)

// The unit that takes most is found without a look at those before it: whatever order units
// become full in, it is the one that a look at all would find.
func TestTheRoomiestUnitIsFoundAgainAndAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 25))
	for range 200 {
		s := &shares{takes: make([]int64, 1+random.IntN(40))}
		for unit := range s.takes {
			s.takes[unit] = random.Int64N(6)
		}
		from := random.IntN(len(s.takes))
		some := span{from: from, to: from + random.IntN(len(s.takes)-from+1), top: math.MaxInt64}
		for {
			want, most := counts.None, int64(0)
			for unit := some.from; unit < some.to; unit++ {
				if s.takes[unit] > most {
					want, most = unit, s.takes[unit]
				}
			}
			if got := s.roomiest(&some); got != want {
				t.Fatalf("%v from %d to %d: unit %d, want %d", s.takes, some.from, some.to, got, want)
			}
			if want == counts.None {
				break
			}
			s.takes[want] -= 1 + random.Int64N(s.takes[want]+1) // below 0 where it was full already
			if other := random.IntN(len(s.takes)); s.takes[other] > 0 {
				s.takes[other]--
			}
		}
	}
}
