package occupancy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestNamesAreSortedAsPeopleNumberThem(t *testing.T) {
	want := []string{"", "rack", "rack-1", "rack-01", "rack-2", "rack-2-b1", "rack-2-b10", "rack-10",
		"rack-100000000000000000000000", "row-1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturally)
	assert.True(t, slices.Equal(want, got), "got %q, want %q", got, want)
}

func TestTheOrderOfNamesIsAnOrder(t *testing.T) {
	name := rapid.StringMatching(`[ab]?[0-9]{0,3}[ab]?[0-9]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		assert.Equal(t, -naturally(b, a), naturally(a, b), "%q and %q one way, %d the other", a, b, naturally(b, a))
		assert.Equal(t, a == b, naturally(a, b) == 0, "%q and %q one way, %d the other", a, b, naturally(b, a))
		assert.False(t, naturally(a, b) < 0 && naturally(b, c) < 0 && naturally(a, c) >= 0,
			"%q < %q < %q, but %q is not below %q", a, b, c, a, c)
	})
}
