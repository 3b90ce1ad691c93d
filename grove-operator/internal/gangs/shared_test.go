package gangs_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func setWith(constraint, groups string) string {
	return `
metadata: {name: s}
spec:
  replicas: 1
  template:
    ` + constraint + `
    cliques: [{name: a, spec: {podSpec: {}}}, {name: b, topologyConstraint: {packDomain: host}, spec: {podSpec: {}}}]
    ` + groups
}

// The scheduler places a gang for all pods that it will have, although they are created one by one.
func TestGangsSayHowManyPodsTheyAreToHave(t *testing.T) {
	const some = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 4, minAvailable: 1, podSpec: {}}}
      - {name: b, spec: {replicas: 3, podSpec: {}}}
      - {name: c, spec: {replicas: 2, minAvailable: 1, podSpec: {}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [c], replicas: 2}]
`
	for name, c := range map[string]struct {
		live live
		want []string
	}{
		"as the template says": {want: []string{`{"s-0-a":4,"s-0-b":3,"s-0-g-0-c":2}`, `{"s-0-g-1-c":2}`}},
		"as a clique was scaled": {
			live: live{replicas: map[string]int32{"s-0-a": 7, "s-0-g-1-c": 1},
				pods: map[string][]string{"s-0-a": {"x", "y"}}},
			want: []string{`{"s-0-a":7,"s-0-b":3,"s-0-g-0-c":2}`, `{"s-0-g-1-c":1}`},
		},
		"a clique that was scaled to nothing is in no gang": {
			live: live{replicas: map[string]int32{"s-0-a": 0, "s-0-g-0-c": 0, "s-0-g-1-c": 0}},
			want: []string{`{"s-0-b":3}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			set := fixture.Set(t, some)
			for _, gang := range gangs.Desired(set, 0, topology.Resolve(set, fixture.Lookup()), c.live.view()) {
				got = append(got, gang.Annotations[schedulingv2alpha2.AnnotationExpectedPods])
			}
			assert.Empty(t, cmp.Diff(c.want, got), "expected pods (-want +got)")
		})
	}
}

// All gangs of a replica have the same annotation, the base gang whether or not there are others at the moment.
func TestGangsOfAReplicaShareTheConstraintOfTheSet(t *testing.T) {
	const group = "podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, topologyConstraint: {packDomain: rack}}]"
	for name, c := range map[string]struct {
		manifest string
		levels   []grovev1alpha1.TopologyDomain
		want     map[string]string
	}{
		"required and preferred": {
			manifest: setWith("topologyConstraint: {pack: {required: zone, preferred: rack}}", group),
			levels:   []grovev1alpha1.TopologyDomain{"zone", "rack", "host"},
			want: map[string]string{
				schedulingv2alpha2.AnnotationBaseGang:        "s-1",
				schedulingv2alpha2.AnnotationSharedTopology:  grovev1alpha1.DefaultClusterTopologyName,
				schedulingv2alpha2.AnnotationSharedRequired:  "example.com/zone",
				schedulingv2alpha2.AnnotationSharedPreferred: "example.com/rack",
			},
		},
		"a level that went away is not shared": {
			manifest: setWith("topologyConstraint: {pack: {required: zone, preferred: rack}}", group),
			levels:   []grovev1alpha1.TopologyDomain{"rack", "host"},
			want: map[string]string{
				schedulingv2alpha2.AnnotationBaseGang:        "s-1",
				schedulingv2alpha2.AnnotationSharedTopology:  grovev1alpha1.DefaultClusterTopologyName,
				schedulingv2alpha2.AnnotationSharedPreferred: "example.com/rack",
			},
		},
		"a set without a constraint shares nothing": {
			manifest: setWith("", group), levels: []grovev1alpha1.TopologyDomain{"zone", "rack", "host"},
			want: map[string]string{},
		},
		"a set without scaling groups has one gang a replica": {
			manifest: setWith("topologyConstraint: {packDomain: zone}", ""),
			levels:   []grovev1alpha1.TopologyDomain{"zone", "host"}, want: map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, c.manifest)
			resolved := topology.Resolve(set, fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName,
				c.levels...)))
			desired := gangs.Desired(set, 1, resolved, live{}.view())
			require.Len(t, desired, 1+len(set.Spec.Template.PodCliqueScalingGroups))
			for _, gang := range desired {
				got := map[string]string{}
				for _, key := range schedulingv2alpha2.CompanyAnnotations() {
					if value, ok := gang.Annotations[key]; ok {
						got[key] = value
					}
				}
				assert.Empty(t, cmp.Diff(c.want, got), "%s (-want +got)", gang.Name)
			}
		})
	}
}

func TestAllGangsOfASetAskForWhatItAsksFor(t *testing.T) {
	set := fixture.Set(t, setWith("", "podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2}]"))
	asked := map[string]string{
		schedulingv2alpha2.AnnotationPlacement:  schedulingv2alpha2.PlacementSpread,
		schedulingv2alpha2.AnnotationSeatHold:   "5m",
		schedulingv2alpha2.AnnotationRepairMove: "subgroup", schedulingv2alpha2.AnnotationRepairAfter: "3m",
	}
	set.Annotations = maps.Clone(asked)
	set.Annotations["team"] = "a"
	made := gangs.Desired(set, 0, topology.Resolution{}, live{}.view())
	require.Len(t, made, 2)
	for _, gang := range made {
		delete(gang.Annotations, schedulingv2alpha2.AnnotationExpectedPods)
		assert.Empty(t, cmp.Diff(asked, gang.Annotations), "annotations of %s (-want +got)", gang.Name)
	}
}

func TestAPolicyOfRepairIsThatOfAllGangs(t *testing.T) {
	const move, after = schedulingv2alpha2.AnnotationRepairMove, schedulingv2alpha2.AnnotationRepairAfter
	for name, c := range map[string]struct {
		repair          *grovev1alpha1.RepairPolicy
		annotated, want map[string]string
	}{
		"nothing is said": {},
		"annotations alone": {annotated: map[string]string{move: "gang"},
			want: map[string]string{move: "gang"}},
		"fields alone": {repair: &grovev1alpha1.RepairPolicy{Move: "gang", After: "5m"},
			want: map[string]string{move: "gang", after: "5m"}},
		"empty fields": {repair: &grovev1alpha1.RepairPolicy{},
			annotated: map[string]string{after: "1m"}, want: map[string]string{after: "1m"}},
		"one of each": {repair: &grovev1alpha1.RepairPolicy{Move: "none"},
			annotated: map[string]string{after: "1m"}, want: map[string]string{move: "none", after: "1m"}},
		"of what contradicts, the field": {repair: &grovev1alpha1.RepairPolicy{Move: "none"},
			annotated: map[string]string{move: "gang"}, want: map[string]string{move: "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, setWith("", "podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2}]"))
			set.Annotations, set.Spec.Template.Repair = c.annotated, c.repair
			for _, gang := range gangs.Desired(set, 0, topology.Resolution{}, live{}.view()) {
				delete(gang.Annotations, schedulingv2alpha2.AnnotationExpectedPods)
				assert.Empty(t, cmp.Diff(c.want, gang.Annotations, cmpopts.EquateEmpty()),
					"annotations of %s (-want +got)", gang.Name)
			}
		})
	}
}

func TestWithHowManyPodsAGangGoesOn(t *testing.T) {
	const running = schedulingv2alpha2.AnnotationMinRunning
	for name, c := range map[string]struct {
		minRunning *int32
		replicas   int32
		want       string
	}{
		"nothing is said":               {replicas: 3},
		"as many as to start":           {replicas: 3, minRunning: ptr.To[int32](3)},
		"fewer":                         {replicas: 3, minRunning: ptr.To[int32](2), want: `{"s-0-a":2}`},
		"more than it was scaled in to": {replicas: 1, minRunning: ptr.To[int32](2)},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, setWith("", ""))
			set.Name = "s"
			spec := &set.Spec.Template.Cliques[0].Spec
			spec.Replicas, spec.MinAvailable, spec.MinRunning = 3, ptr.To[int32](3), c.minRunning
			view := live{}.view()
			view.Replicas = func(podClique string) (int32, bool) { return c.replicas, podClique == "s-0-a" }
			made := gangs.Desired(set, 0, topology.Resolution{}, view)
			assert.Equal(t, c.want, made[0].Annotations[running])
		})
	}
}

// The scheduler reads the Topology that exists; the pods are made for the binding.
func TestGangsReferToTheTopologyThatABindingNames(t *testing.T) {
	binding := fixture.Binding("fabric", "hall", "host")
	binding.Spec.SchedulerTopologyBindings = []grovev1alpha1.SchedulerTopologyBinding{{SchedulerName: "kai-scheduler",
		TopologyReference: "existing"}}
	set := fixture.Set(t, setWith("topologyConstraint: {topologyName: fabric, packDomain: hall}",
		"podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 2}]"))
	lookup := func(string) *topology.Topology { return topology.OfBinding(binding) }
	made := gangs.Desired(set, 0, topology.Resolve(set, lookup), live{}.view())
	require.Len(t, made, 2)
	for _, gang := range made {
		for annotation, want := range map[string]string{
			grovev1alpha1.AnnotationTopologyName: "existing", schedulingv2alpha2.AnnotationSharedTopology: "existing",
			schedulingv2alpha2.AnnotationSharedRequired: "example.com/hall",
			schedulingv2alpha2.AnnotationPodsTopology:   "fabric",
		} {
			assert.Equal(t, want, gang.Annotations[annotation], "%s of %s", annotation, gang.Name)
		}
	}
}
