package solve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

func related(t *testing.T, relations string) *gang.Gang {
	t.Helper()
	return following(t, map[string]string{scheduling.AnnotationRelations: relations})
}

func TestRelationsArePutToTheEngine(t *testing.T) {
	others := []gang.RelatedItems{
		{Gang: gang.Key{Name: "a"}, Nodes: [][]string{{"n1"}, {"n2", "n3"}}},
		{Gang: gang.Key{Name: "b"}, Item: "replica-0", Nodes: [][]string{{"n4"}}},
		{Gang: gang.Key{Name: "c"}, Item: "replica-1", Nodes: [][]string{{"n5"}}},
		{Gang: gang.Key{Name: "d"}, Item: "replica-0", Nodes: [][]string{{"n6"}}},
	}
	for name, c := range map[string]struct {
		relations string
		near      []string
		want      []packing.Relation
		root      []string
	}{
		"the pods of a gang": {
			relations: `[{"name":"r","level":"rack","maxPerDomain":2}]`,
			want:      []packing.Relation{{Name: "r", Topology: "t", Level: "rack", Max: 2, PerPod: true}},
			root:      []string{"r"},
		},
		"gangs, each where it stands": {
			relations: `[{"name":"r","level":"zone","gangs":"g","maxPerDomain":1}]`,
			want: []packing.Relation{{Name: "r", Topology: "t", Level: "zone", Max: 1,
				Others: [][]string{{"n1"}, {"n2", "n3"}, {"n4", "n6"}, {"n5"}}}},
			root: []string{"r"},
		},
		"gangs of one item as one, which the gang itself may be of": {
			relations: `[{"name":"r","level":"zone","gangs":"g","item":"replica-0","maxPercentPerDomain":50}]`,
			want: []packing.Relation{{Name: "r", Topology: "t", Level: "zone", Max: 2,
				Others: [][]string{{"n1"}, {"n2", "n3"}, {"n5"}}, Joined: []string{"n4", "n6"}}},
			root: []string{"r"},
		},
		"as many in each domain, met as far as possible": {
			relations: `[{"name":"r","level":"rack","even":true,"required":false}]`,
			want:      []packing.Relation{{Name: "r", Topology: "t", Level: "rack", Even: true, Preferred: true, PerPod: true}},
			root:      []string{"r"},
		},
		"as many gangs in each domain, which come one after the other": {
			relations: `[{"name":"r","level":"zone","gangs":"g","even":true,"required":false}]`,
			want: []packing.Relation{{Name: "r", Topology: "t", Level: "zone", Even: true, Preferred: true,
				Others: [][]string{{"n1"}, {"n2", "n3"}, {"n4", "n6"}, {"n5"}}}},
			root: []string{"r"},
		},
		"near a gang that stands": {
			relations: `[{"name":"r","level":"rack","near":"b"}]`,
			near:      []string{"n4", "n5"},
			want: []packing.Relation{
				{Name: "r", Topology: "t", Level: "rack", Near: []string{"n4", "n5"}, PodsText: "gang b"},
			},
			root: []string{"r"},
		},
		"near a gang that stands nowhere": {
			relations: `[{"name":"r","level":"rack","near":"b"}]`,
			want:      []packing.Relation{{Name: "r", Topology: "t", Level: "rack", Near: []string{}, PodsText: "gang b"}},
			root:      []string{"r"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assembled := related(t, c.relations)
			switch r := &assembled.Relations[0]; {
			case c.near != nil:
				r.Others = []gang.RelatedItems{{Gang: gang.Key{Name: "b"}, Nodes: [][]string{c.near}}}
			case r.Gangs != "":
				r.Others = others
			}
			got, err := solve.Translate(assembled, nil, nil)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(c.want, got.Relations))
			assert.Empty(t, cmp.Diff(c.root, got.Root.Relations), "items")
		})
	}
}

func TestOfTwoGangsNearEachOtherOneIsFirst(t *testing.T) {
	first := related(t, `[{"name":"r","level":"rack","near":"b"}]`)
	first.Relations[0].First = true
	if got, err := solve.Translate(first, nil, nil); err != nil || len(got.Relations) > 0 || len(got.Root.Relations) > 0 {
		t.Errorf("%v, relations %v of %v", err, got.Relations, got.Root.Relations)
	}
}

func TestRelationsOfGangsDecidedTogetherAreOne(t *testing.T) {
	one := `{"name":"r","level":"zone","gangs":"g","item":"replica-0","maxPerDomain":1}`
	own := `{"name":"pods","level":"rack","maxPerDomain":1}`
	shared := map[string]string{
		scheduling.AnnotationSharedRequired: "zone", scheduling.AnnotationRelations: "[" + one + "," + own + "]",
	}
	first, second := following(t, shared), following(t, shared)
	second.PodGroup.Name = "second"
	got, err := solve.Translate(first, []*gang.Gang{second}, func(*corev1.Pod) (packing.Shape, error) {
		return packing.Shape{}, nil
	})
	require.NoError(t, err)
	var names []string
	for _, r := range got.Relations {
		names = append(names, r.Name)
	}
	assert.Empty(t, cmp.Diff([]string{"g/replica-0/t/zone", "scaled/pods", "second/pods"}, names), "relations")
	assert.Empty(t, cmp.Diff([]string{"g/replica-0/t/zone"}, got.Root.Relations), "of all")
	for i, want := range []string{"scaled/pods", "second/pods"} {
		assert.Empty(t, cmp.Diff([]string{want}, got.Root.Children[i].Relations), "of one")
	}
}
