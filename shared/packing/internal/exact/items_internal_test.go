package exact

import (
	"slices"
	"testing"
)

// Pods are handed out from the front of a list, and none is lost or given twice.
func TestSharesAreTakenFromTheFront(t *testing.T) {
	for _, tc := range []struct {
		n           int
		taken, rest []share
	}{
		{0, nil, []share{{7, 2}, {3, 1}, {9, 4}}},
		{1, []share{{7, 1}}, []share{{7, 1}, {3, 1}, {9, 4}}},
		{2, []share{{7, 2}}, []share{{3, 1}, {9, 4}}},
		{5, []share{{7, 2}, {3, 1}, {9, 2}}, []share{{9, 2}}},
		{7, []share{{7, 2}, {3, 1}, {9, 4}}, nil},
	} {
		taken, rest := take([]share{{7, 2}, {3, 1}, {9, 4}}, tc.n)
		if !slices.Equal(taken, tc.taken) || !slices.Equal(rest, tc.rest) {
			t.Errorf("%d: %v and %v, want %v and %v", tc.n, taken, rest, tc.taken, tc.rest)
		}
	}
	if taken, rest := take(nil, 0); taken != nil || rest != nil {
		t.Errorf("of none: %v and %v", taken, rest)
	}
}
