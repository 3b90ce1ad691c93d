package catalog_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/podgrouper/internal/grouping"
)

func TestCountAndShare(t *testing.T) {
	for name, c := range map[string]struct {
		written      any
		count, share int32
	}{
		"a number":                {int64(3), 3, 3},
		"a negative number":       {int64(-3), 0, 0},
		"more than a count holds": {int64(math.MaxInt64), math.MaxInt32, math.MaxInt32},
		"a percentage, of ten":    {"25%", 7, 3},
		"no number":               {"some", 7, 0},
		"another type":            {true, 7, 0},
		"nothing":                 {nil, 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			fields := grouping.Fields{"spec": map[string]any{"size": c.written}}
			assert.Equal(t, c.count, fields.Count(7, "spec", "size"), "the count")
			assert.Equal(t, c.share, fields.Share(10, "spec", "size"), "the share")
		})
	}
}
