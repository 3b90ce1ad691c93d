package exact

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHowManyPodsFitIntoWhatIsFree(t *testing.T) {
	for name, test := range map[string]struct {
		requests, free []int64
		want           int
	}{
		"the last pod takes the last of it":                {[]int64{2}, []int64{4}, 2},
		"a part of a pod is none":                          {[]int64{2}, []int64{5}, 2},
		"the resource of which fewest fit decides":         {[]int64{1, 3}, []int64{9, 8}, 2},
		"it may be the first":                              {[]int64{3, 1}, []int64{8, 9}, 2},
		"one resource is used up":                          {[]int64{1, 1}, []int64{9, 0}, 0},
		"what nobody asks for may be used up":              {[]int64{1, 0}, []int64{9, 0}, 9},
		"what nobody asks for may be overdrawn":            {[]int64{1, 0}, []int64{9, -3}, 9},
		"more than is counted to":                          {[]int64{1}, []int64{1 << 40}, maxFit},
		"pods that ask for nothing fit as often as counts": {[]int64{0}, []int64{0}, maxFit},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, fitting(test.requests, test.free))
		})
	}
}

// Sums and products that no int64 holds are the largest one: they never turn into little.
func TestLargeAmountsStayLarge(t *testing.T) {
	const most = math.MaxInt64
	for name, test := range map[string]struct{ got, want int64 }{
		"no pods ask for nothing":                {times(0, most), 0},
		"one pod":                                {times(1, most), most},
		"the largest product":                    {times(2, most/2), most - 1},
		"one beyond the largest product":         {times(2, most/2+1), most},
		"a product far beyond":                   {times(1<<40, 1<<40), most},
		"a product of small ones":                {times(6, 7), 42},
		"the largest sum":                        {plus(most-5, 5), most},
		"one less than the largest sum":          {plus(most-5, 4), most - 1},
		"one beyond the largest sum":             {plus(most-5, 6), most},
		"a sum of small ones":                    {plus(40, 2), 42},
		"common divisor":                         {gcd(12, 18), 6},
		"common divisor with nothing":            {gcd(0, 7), 7},
		"common divisor of numbers that share 1": {gcd(8, 9), 1},
	} {
		assert.Equal(t, test.want, test.got, name)
	}
}

// No bound refuses what fits, at any level of a tree and with groups inside of groups.
func TestNoBoundRefusesWhatFitsIntoATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		s := newSolver(in, unlimited())
		c := drawSome(t, in.Total)
		if !possible(in, domain, c) {
			return
		}
		opened := s.open(c, in.Domains[domain].Level)
		require.True(t, s.room(domain, opened), "%v fits into domain %d, and has no room by sums", c, domain)
		d := distributionOf(s, domain, opened)
		require.True(t, d.enough(0, opened), "%v fits into domain %d, and its bins are not enough", c, domain)
		l := newLocal(d, opened)
		var bins []int
		for at := range d.bins {
			bins = append(bins, at)
		}
		for item, n := range opened {
			require.False(t, n > 0 && !slices.ContainsFunc(bins, func(at int) bool { return l.alone(at, item) }),
				"%v fits into domain %d, and no bin takes item %d alone", c, domain, item)
		}
	})
}

// sign writes all of a domain that a search could tell it by, whatever the order of what is in it.
func sign(in *Instance, domain int) string {
	d := &in.Domains[domain]
	var within []string
	for _, n := range d.Nodes {
		within = append(within, signNode(in, n))
	}
	for _, child := range d.Children {
		within = append(within, sign(in, child))
	}
	slices.Sort(within)
	return fmt.Sprintf("%d(%s)", d.Level, strings.Join(within, " "))
}

func signNode(in *Instance, node int) string {
	var classes []int
	for class := range in.Classes {
		if it := &in.Items[class]; it.Allowed[node] && fitting(it.Requests, in.Free[node]) > 0 {
			classes = append(classes, class)
		}
	}
	return fmt.Sprint(in.Free[node], classes)
}

// Two nodes, or two domains, have one mark just when nothing tells them apart.
func TestMarksTellApartWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		for a := range in.Free {
			for b := range a {
				require.Equal(t, s.nodeMark[a] == s.nodeMark[b], signNode(in, a) == signNode(in, b),
					"nodes %s and %s", signNode(in, a), signNode(in, b))
			}
		}
		for a := range in.Domains {
			for b := range a {
				require.Equal(t, s.domainMark[a] == s.domainMark[b], sign(in, a) == sign(in, b),
					"domains %s and %s", sign(in, a), sign(in, b))
			}
		}
	})
}

// Keys are of one length of counts; they hold where a search is, and each count.
func TestKeysTellQuestionsApart(t *testing.T) {
	keys := map[string]string{}
	for _, mark := range []uint64{0, 1, 1 << 60} {
		each(Counts{2, 1, 2}, func(c Counts) {
			for _, large := range []int{0, 127, 128, 1 << 20} {
				question := append(slices.Clone(c), large)
				key, text := keyOf(mark, question), fmt.Sprint(mark, question)
				other, ok := keys[key]
				assert.False(t, ok, "%s and %s have one key", text, other)
				keys[key] = text
			}
		})
	}
}
