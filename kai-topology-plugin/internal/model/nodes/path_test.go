package nodes_test

import (
	"slices"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

func TestPath(t *testing.T) {
	labels := map[string]string{"zone": "z", "rack": "", "host": "h"}
	for name, c := range map[string]struct {
		levels []string
		want   packing.Path
	}{
		"no level is the cluster":              {want: packing.Path{}},
		"from the broadest level down":         {levels: []string{"zone", "host"}, want: packing.Path{"z", "h"}},
		"an empty value is a domain":           {levels: []string{"zone", "rack"}, want: packing.Path{"z", ""}},
		"none without the label of a level":    {levels: []string{"zone", "block"}},
		"none below a level whose label lacks": {levels: []string{"block", "host"}},
	} {
		if got := nodes.Path(labels, c.levels); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
