package mutants_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/mutants"
)

func TestAProgramChangesACopy(t *testing.T) {
	written := func() any { return map[string]any{"a": []any{"x", int64(2)}, "b": map[string]any{"c": "d"}} }
	for name, c := range map[string]struct {
		program []byte
		want    any
	}{
		"nothing":                  {nil, written()},
		"a value is another":       {[]byte{0, 0, 2, 0, 3}, map[string]any{"a": []any{"0", int64(2)}, "b": map[string]any{"c": "d"}}},
		"a value is a copy":        {[]byte{1, 0, 1, 0, 4}, map[string]any{"a": map[string]any{"c": "d"}, "b": map[string]any{"c": "d"}}},
		"an element is gone":       {[]byte{2, 0, 2, 0, 0}, map[string]any{"a": []any{int64(2)}, "b": map[string]any{"c": "d"}}},
		"a field is gone":          {[]byte{2, 0, 4, 0, 0}, map[string]any{"a": []any{"x", int64(2)}}},
		"a field is added":         {[]byte{3, 0, 4, 0, 0}, map[string]any{"a": []any{"x", int64(2)}, "b": map[string]any{"c": "d", "key": nil}}},
		"a list is longer":         {[]byte{5, 0, 1, 0, 5}, map[string]any{"a": []any{"x", int64(2), "d"}, "b": map[string]any{"c": "d"}}},
		"half a step is none":      {[]byte{2, 0, 4}, written()},
		"everything can be gone":   {[]byte{2, 0, 0, 0, 0}, nil},
		"a text is changed inside": {[]byte{0, 0, 2, 0, 14, 4, 0, 2, 0, 0, 3, 0, 0, 0, 6}, map[string]any{"a": []any{`{"key":"0"}`, int64(2)}, "b": map[string]any{"c": "d"}}},
	} {
		t.Run(name, func(t *testing.T) {
			value := written()
			assert.Empty(t, cmp.Diff(c.want, mutants.Of(value, []string{"key"}, c.program)), "(-want +got)")
			assert.Empty(t, cmp.Diff(written(), value), "the value itself is changed (-before +after)")
		})
	}
}
