package podgrouptree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
)

func TestHierarchyNamed(t *testing.T) {
	topology := &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{
		{NodeLabel: "zone", Alias: "z"}, {NodeLabel: "block", Alias: "b"}, {NodeLabel: "rack", Alias: "b"},
		{NodeLabel: "b2", Alias: "zone"}, {NodeLabel: "host"},
	}}}
	levels := podgrouptree.HierarchyOf(topology)
	for name, c := range map[string]struct {
		called, key, problem string
	}{
		"by its label":                   {called: "rack", key: "rack"},
		"by its alias":                   {called: "z", key: "zone"},
		"a label counts before an alias": {called: "zone", key: "zone"},
		"an alias of two": {called: "b", key: "b",
			problem: `is the alias of 2 levels of Topology "t", block and rack: name the one that is meant by its label, or give it another alias`},
		"neither": {called: "row", key: "row",
			problem: `Topology "t" has no such level, its levels are: zone (z), block (b), rack (b), b2 (zone), host`},
		"no alias is not a level of no name": {called: "", key: "",
			problem: `Topology "t" has no such level, its levels are: zone (z), block (b), rack (b), b2 (zone), host`},
	} {
		t.Run(name, func(t *testing.T) {
			got := []string{levels.Key(c.called), levels.Problem("t", c.called)}
			assert.Empty(t, cmp.Diff([]string{c.key, c.problem}, got), "key and problem (-want +got)")
		})
	}
}
