package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func TestTopologyKept(t *testing.T) {
	gang := func(name, inForce, kept string) *schedulerv1alpha1.PodGang {
		made := &schedulerv1alpha1.PodGang{}
		made.Name = name
		made.Annotations = map[string]string{schedulingv2alpha2.AnnotationPodsTopology: inForce,
			grovev1alpha1.AnnotationTopologyKept: kept}
		return made
	}
	set := fixture.Set(t,
		"metadata: {name: s}\nspec: {template: {clusterTopologyName: b, topologyConstraint: {packDomain: rack}, cliques: "+
			"[{name: a, spec: {podSpec: {}}}]}}")
	for name, c := range map[string]struct {
		named string
		gangs []*schedulerv1alpha1.PodGang
		want  []string
		// inForce is the topology in the set's status.
		inForce string
	}{
		"a set without constraints keeps nothing": {
			gangs: []*schedulerv1alpha1.PodGang{gang("s-0", "", "")},
			want:  []string{"False", "NamedTopologyInForce", "no topology constraint is in use"},
		},
		"gangs have the topology that the set names": {
			named: "b", gangs: []*schedulerv1alpha1.PodGang{gang("s-0", "b", "")},
			want:    []string{"False", "NamedTopologyInForce", "every gang has the topology that the set names"},
			inForce: "b",
		},
		"what gangs kept before a further turn has not been decided anew": {
			named: "b", gangs: []*schedulerv1alpha1.PodGang{gang("s-0", "a", "c")},
			want:    []string{"False", "NamedTopologyInForce", "every gang has the topology that the set names"},
			inForce: "b",
		},
		"gangs keep another": {
			named: "b", gangs: []*schedulerv1alpha1.PodGang{gang("s-1", "a", "b"), gang("s-0", "b", ""),
				gang("s-1-g-0", "a", "b")},
			want: []string{"True", "PodsScheduledBefore",
				`the set names ClusterTopology "b", but PodGangs s-1, s-1-g-0 keep a, ` +
					"under which pods were placed before they could turn: s-1-a-x; name a again, or delete these pods"},
			inForce: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			judged := status.OfSet(set, status.Observed{
				Topology: topology.Resolution{Name: c.named, Named: c.named}, Gangs: c.gangs,
				PlacedElsewhere: []string{"s-1-a-x"},
			}, nil)
			found := meta.FindStatusCondition(judged.Conditions, grovev1alpha1.ConditionTopologyKept)
			assert.Empty(t, cmp.Diff(c.want, []string{string(found.Status), found.Reason, found.Message}),
				"condition (-want +got)")
			assert.Equal(t, c.inForce, judged.ClusterTopologyName, "topology in status")
		})
	}
}
