package spares_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/spares"
)

func TestParse(t *testing.T) {
	levels := podgrouptree.Hierarchy{{Key: "l/block", Alias: "block"}, {Key: "l/rack", Alias: "rack"}}
	one, two := spares.Wanted{Level: "l/rack", Nodes: 2}, spares.Wanted{Level: "l/rack", Nodes: 2, YieldBelow: 100}
	for said, want := range map[string]struct {
		all   []spares.Wanted
		wrong string
	}{
		`[{"level":"l/rack","nodes":2}]`:                {all: []spares.Wanted{one}},
		`[{"level":"rack","nodes":2,"yieldBelow":100}]`: {all: []spares.Wanted{two}},
		`[{"level":"l/rack","nodes":0},{"level":"block","nodes":2}]`: {
			all: []spares.Wanted{{Level: "l/rack"}, {Level: "l/block", Nodes: 2}},
		},
		`[]`:                                    {all: []spares.Wanted{}},
		`{"level":"l/rack","nodes":2}`:          {wrong: "must be a JSON list"},
		`[{"level":"l/rack","node":2}]`:         {wrong: "must be a JSON list"},
		`two`:                                   {wrong: "must be a JSON list"},
		`[{"level":"l/rack","nodes":1}], "x":1`: {wrong: "must be a JSON list"},
		`[{"level":"l/row","nodes":2}]`:         {wrong: "level must be one of: l/block (block), l/rack (rack)"},
		`[{"nodes":2}]`:                         {wrong: "level must be one of"},
		`[{"level":"l/rack","nodes":-1}]`:       {wrong: "nodes must be at least 0"},
		`[{"level":"l/rack","nodes":1},{"level":"rack","nodes":2}]`: {wrong: "Duplicate value"},
	} {
		all, wrong := spares.Parse(map[string]string{kai.AnnotationSpares: said}, levels)
		if diff := cmp.Diff(want.all, all); diff != "" {
			t.Errorf("%s (-want +got):\n%s", said, diff)
		}
		if (wrong != nil) != (want.wrong != "") || wrong != nil &&
			(!strings.Contains(wrong.Error(), want.wrong) || wrong.Field != "metadata.annotations[packtree.dev/spares]") {
			t.Errorf("%s: %v, want %q", said, wrong, want.wrong)
		}
	}
	if all, wrong := spares.Parse(nil, levels); all != nil || wrong != nil {
		t.Errorf("an object that says nothing: %v, %v", all, wrong)
	}
}
