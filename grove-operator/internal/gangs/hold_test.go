package gangs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func TestGangsOfAHeldSet(t *testing.T) {
	const whole = "s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host; s-0-g-0@rack[s-0-g-0-b]; s-0-g-1@rack[s-0-g-1-b]"
	all := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack", "host")
	withoutRack := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "host")
	const awaited = "level rack of ClusterTopology grove-topology"
	for name, c := range map[string]struct {
		policy string
		now    []*grovev1alpha1.ClusterTopology
		fresh  bool
		copies int32
		want   []string
		held   string
	}{
		"unset means drop": {
			now: []*grovev1alpha1.ClusterTopology{withoutRack}, copies: 2,
			want: []string{"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host"},
		},
		"drop leaves out what is missing": {
			policy: "drop", now: []*grovev1alpha1.ClusterTopology{withoutRack}, copies: 2,
			want: []string{"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host"},
		},
		"hold leaves a gang what it has": {
			policy: "hold", now: []*grovev1alpha1.ClusterTopology{withoutRack}, copies: 2,
			want: []string{whole}, held: awaited,
		},
		"hold leaves a gang what it has when the topology is gone": {
			policy: "hold", copies: 2, want: []string{whole}, held: "ClusterTopology grove-topology",
		},
		"a copy that goes takes its constraint along": {
			policy: "hold", now: []*grovev1alpha1.ClusterTopology{withoutRack}, copies: 1,
			want: []string{"s-0@zone: s-0-a×2 s-0-g-0-b×1@host; s-0-g-0@rack[s-0-g-0-b]"}, held: awaited,
		},
		"a gang that comes now is held as well": {
			policy: "hold", now: []*grovev1alpha1.ClusterTopology{withoutRack}, copies: 2, fresh: true,
			want: []string{"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host"}, held: awaited,
		},
		"with all levels there is nothing to hold": {
			policy: "hold", now: []*grovev1alpha1.ClusterTopology{all}, copies: 2, want: []string{whole},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest)
			if c.policy != "" {
				set.Annotations = map[string]string{grovev1alpha1.AnnotationMissingTopologyLevel: c.policy}
			}
			view := live{copies: map[string]int32{"s-0-g": 2}}.view()
			before := gangs.Desired(set, 0, topology.Resolve(set, fixture.Lookup(all)), view)
			view = live{copies: map[string]int32{"s-0-g": c.copies}}.view()
			view.Gang = func(name string) *schedulerv1alpha1.PodGang {
				if c.fresh || name != before[0].Name {
					return nil
				}
				return before[0]
			}
			got := gangs.Desired(set, 0, topology.Resolve(set, fixture.Lookup(c.now...)), view)
			assert.Empty(t, cmp.Diff(c.want, sketch(got)), "gangs (-want +got)")
			held := got[0].Annotations[grovev1alpha1.AnnotationHeldForTopology]
			assert.Equal(t, c.held, held)
			if shared := got[0].Annotations[schedulingv2alpha2.AnnotationSharedRequired]; !c.fresh &&
				shared != "example.com/zone" {
				t.Errorf("shared level %q, want that of before", shared)
			}
		})
	}
}

func TestAGangOfAnotherTopologyKeepsNothing(t *testing.T) {
	set := fixture.Set(t, manifest)
	set.Annotations = map[string]string{grovev1alpha1.AnnotationMissingTopologyLevel: "hold"}
	view := live{}.view()
	before := gangs.Desired(set, 0, topology.Resolve(set, fixture.Lookup(
		fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack", "host"))), view)
	view.Gang = func(string) *schedulerv1alpha1.PodGang { return before[0] }
	set.Spec.Template.ClusterTopologyName = "other"
	got := gangs.Desired(set, 0, topology.Resolve(set, fixture.Lookup(fixture.Topology("other", "rack"))), view)
	const want = "s-0: s-0-a×2 s-0-g-0-b×1 s-0-g-1-b×1; s-0-g-0@rack[s-0-g-0-b]; s-0-g-1@rack[s-0-g-1-b]"
	assert.Empty(t, cmp.Diff(want, sketch(got)[0]), "base gang (-want +got)")
	held :=
		got[0].Annotations[grovev1alpha1.AnnotationHeldForTopology]
	assert.Equal(t, "level zone, host of ClusterTopology other", held)
}

func TestTheGateOfAHeldGangStaysShut(t *testing.T) {
	gang := &schedulerv1alpha1.PodGang{}
	gang.Spec.PodGroups = []schedulerv1alpha1.PodGroup{
		{PodReferences: []schedulerv1alpha1.NamespacedName{{Namespace: "n", Name: "p"}}},
	}
	assert.True(t, gangs.GateOpen("n", "p", gang, nil), "the gate of a pod that its base gang lists is shut")
	gang.Annotations = map[string]string{grovev1alpha1.AnnotationHeldForTopology: "level rack of ClusterTopology x"}
	assert.False(t, gangs.GateOpen("n", "p", gang, nil), "the gate opens although the gang is held")
}
