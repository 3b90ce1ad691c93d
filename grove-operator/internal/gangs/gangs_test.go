package gangs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

const manifest = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: zone}
    cliques:
      - {name: a, spec: {replicas: 3, minAvailable: 2, podSpec: {}}}
      - {name: b, topologyConstraint: {packDomain: host}, spec: {podSpec: {}}}
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [b], replicas: 3, minAvailable: 2, topologyConstraint: {packDomain: rack}}
`

// live is a cluster in which some objects have been scaled by hand.
type live struct {
	copies, replicas map[string]int32
	pods             map[string][]string
}

func (l live) view() gangs.Live {
	return gangs.Live{
		Copies:   func(name string) (int32, bool) { n, ok := l.copies[name]; return n, ok },
		Replicas: func(name string) (int32, bool) { n, ok := l.replicas[name]; return n, ok },
		Pods:     func(name string) []string { return l.pods[name] },
	}
}

// sketch writes gangs on lines: name@constraint: group×minimum@constraint(pods) …; config@constraint[groups].
func sketch(desired []*schedulerv1alpha1.PodGang) []string {
	var lines []string
	for _, gang := range desired {
		line := gang.Name + at(gang.Spec.TopologyConstraint) + ":"
		for _, group := range gang.Spec.PodGroups {
			line += fmt.Sprintf(" %s×%d%s", group.Name, group.MinReplicas, at(group.TopologyConstraint))
			for _, pod := range group.PodReferences {
				line += "+" + pod.Name
			}
		}
		for _, config := range gang.Spec.TopologyConstraintGroupConfigs {
			line += fmt.Sprintf("; %s%s%v", config.Name, at(config.TopologyConstraint), config.PodGroupNames)
		}
		lines = append(lines, line)
	}
	return lines
}

func at(constraint *schedulerv1alpha1.TopologyConstraint) string {
	if constraint == nil {
		return ""
	}
	return "@" + strings.TrimPrefix(*constraint.PackConstraint.Required, "example.com/")
}

func TestDesired(t *testing.T) {
	all := []grovev1alpha1.TopologyDomain{"zone", "rack", "host"}
	for name, c := range map[string]struct {
		live   live
		levels []grovev1alpha1.TopologyDomain
		want   []string
	}{
		"the template, before anything exists": {
			levels: all,
			want: []string{
				"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host; s-0-g-0@rack[s-0-g-0-b]; s-0-g-1@rack[s-0-g-1-b]",
				"s-0-g-0@rack: s-0-g-2-b×1@host",
			},
		},
		"a gang lists the pods that exist": {
			levels: all, live: live{copies: map[string]int32{"s-0-g": 2},
				pods: map[string][]string{"s-0-a": {"x", "y"}}},
			want: []string{
				"s-0@zone: s-0-a×2+x+y s-0-g-0-b×1@host s-0-g-1-b×1@host; s-0-g-0@rack[s-0-g-0-b]; s-0-g-1@rack[s-0-g-1-b]",
			},
		},
		"scaled gangs follow the live group and not the template": {
			levels: all, live: live{copies: map[string]int32{"s-0-g": 4}},
			want: []string{
				"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host; s-0-g-0@rack[s-0-g-0-b]; s-0-g-1@rack[s-0-g-1-b]",
				"s-0-g-0@rack: s-0-g-2-b×1@host",
				"s-0-g-1@rack: s-0-g-3-b×1@host",
			},
		},
		"a group below its minimum leaves the base gang with what is there": {
			levels: all, live: live{copies: map[string]int32{"s-0-g": 1}},
			want: []string{"s-0@zone: s-0-a×2 s-0-g-0-b×1@host; s-0-g-0@rack[s-0-g-0-b]"},
		},
		"a clique below its minimum does not keep its gang from being complete": {
			levels: all, live: live{copies: map[string]int32{"s-0-g": 0}, replicas: map[string]int32{"s-0-a": 1}},
			want: []string{"s-0@zone: s-0-a×1"},
		},
		"what was scaled to zero is in no gang": {
			levels: all, live: live{copies: map[string]int32{"s-0-g": 3},
				replicas: map[string]int32{"s-0-a": 0, "s-0-g-0-b": 0, "s-0-g-2-b": 0}},
			want: []string{"s-0@zone: s-0-g-1-b×1@host; s-0-g-1@rack[s-0-g-1-b]"},
		},
		"a level that went away takes its constraint along": {
			levels: []grovev1alpha1.TopologyDomain{"zone", "host"},
			want: []string{
				"s-0@zone: s-0-a×2 s-0-g-0-b×1@host s-0-g-1-b×1@host",
				"s-0-g-0: s-0-g-2-b×1@host",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest)
			resolved := topology.Resolve(set,
				fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, c.levels...)))
			assert.Empty(t, cmp.Diff(c.want, sketch(gangs.Desired(set, 0, resolved, c.live.view()))),
				"gangs (-want +got)")
		})
	}
}

func TestOnlyConstrainedGangsNameATopology(t *testing.T) {
	set := fixture.Set(t, manifest)
	for name, c := range map[string]struct {
		lookup topology.Lookup
		want   string
	}{
		"with constraints": {fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "host")),
			grovev1alpha1.DefaultClusterTopologyName},
		"after the topology was removed": {fixture.Lookup(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, gang := range gangs.Desired(set, 0, topology.Resolve(set, c.lookup), live{}.view()) {
				assert.Equal(t, c.want, gang.Annotations[grovev1alpha1.AnnotationTopologyName])
			}
		})
	}
}

func gang(groups ...schedulerv1alpha1.PodGroup) *schedulerv1alpha1.PodGang {
	return &schedulerv1alpha1.PodGang{Spec: schedulerv1alpha1.PodGangSpec{PodGroups: groups}}
}

func group(name string, minReplicas int32, pods ...string) schedulerv1alpha1.PodGroup {
	made := schedulerv1alpha1.PodGroup{Name: name, MinReplicas: minReplicas}
	for _, pod := range pods {
		made.PodReferences = append(made.PodReferences, schedulerv1alpha1.NamespacedName{Namespace: "ns", Name: pod})
	}
	return made
}

func TestGateOpen(t *testing.T) {
	base := gang(group("a", 2), group("b", 1))
	scheduled := func(counts map[string]int32) func(string) int32 {
		return func(name string) int32 { return counts[name] }
	}
	for name, c := range map[string]struct {
		gang *schedulerv1alpha1.PodGang
		base *gangs.Base
		want bool
	}{
		"closed while there is no gang":       {},
		"closed while the gang does not list": {gang: gang(group("a", 1, "other"))},
		"open in a base gang that lists it":   {gang: gang(group("x", 1), group("a", 1, "p")), want: true},
		"closed while the base gang is gone": {gang: gang(group("a", 1, "p")),
			base: &gangs.Base{OnNodes: scheduled(nil)}},
		"closed while one group of the base gang is below its minimum": {
			gang: gang(group("a", 1, "p")),
			base: &gangs.Base{Gang: base, OnNodes: scheduled(map[string]int32{"a": 1, "b": 1})},
		},
		"open when every group of the base gang has its minimum": {
			gang: gang(group("a", 1, "p")),
			base: &gangs.Base{Gang: base, OnNodes: scheduled(map[string]int32{"a": 2, "b": 5})}, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, gangs.GateOpen("ns", "p", c.gang, c.base), "open")
		})
	}
}

// judged is a gang with a condition Scheduled that another writer has set.
func judged(gang *schedulerv1alpha1.PodGang) *schedulerv1alpha1.PodGang {
	gang.Status.Conditions = []metav1.Condition{
		{Type: schedulerv1alpha1.ConditionScheduled, Status: metav1.ConditionUnknown, Reason: "Waiting"},
	}
	return gang
}

func TestStatus(t *testing.T) {
	two := gang(group("a", 2, "p", "q", "r"), group("b", 1, "s"))
	for name, c := range map[string]struct {
		a, b  gangs.GroupCounts
		phase schedulerv1alpha1.PodGangPhase
		want  string
	}{
		"pods are missing": {
			a: gangs.GroupCounts{Wanted: 4}, b: gangs.GroupCounts{Wanted: 1},
			phase: schedulerv1alpha1.PodGangPhasePending,
			want: "Initialized=False/PodGangPodsCreationPending Ready=False/MinimaNotReady Unhealthy=False/Healthy " +
				"DisruptionTarget=False/NotDisrupted",
		},
		"one minimum stands nowhere": {
			a: gangs.GroupCounts{Wanted: 3, Scheduled: 3}, b: gangs.GroupCounts{Wanted: 1},
			phase: schedulerv1alpha1.PodGangPhasePending,
			want: "Initialized=True/PodGangPodsCreated Ready=False/MinimaNotReady Unhealthy=False/Healthy " +
				"DisruptionTarget=False/NotDisrupted",
		},
		"minima stand, and one is not ready": {
			a:     gangs.GroupCounts{Wanted: 3, Scheduled: 2, Ready: 1},
			b:     gangs.GroupCounts{Wanted: 1, Scheduled: 1, Ready: 1},
			phase: schedulerv1alpha1.PodGangPhaseStarting,
			want: "Initialized=True/PodGangPodsCreated Ready=False/MinimaNotReady Unhealthy=False/Healthy " +
				"DisruptionTarget=False/NotDisrupted",
		},
		"minima are ready, and one pod beyond them is not": {
			a:     gangs.GroupCounts{Wanted: 3, Scheduled: 2, Ready: 2},
			b:     gangs.GroupCounts{Wanted: 1, Scheduled: 1, Ready: 1},
			phase: schedulerv1alpha1.PodGangPhaseRunning,
			want: "Initialized=True/PodGangPodsCreated Ready=True/MinimaReady Unhealthy=False/Healthy " +
				"DisruptionTarget=False/NotDisrupted",
		},
		"a minimum was lost that had been ready": {
			a: gangs.GroupCounts{Wanted: 3, Scheduled: 3, Ready: 1, WasReady: true, MinRunning: 2},
			b: gangs.GroupCounts{Wanted: 1, Scheduled: 1, Ready: 1}, phase: schedulerv1alpha1.PodGangPhaseStarting,
			want: "Initialized=True/PodGangPodsCreated Ready=False/MinimaNotReady Unhealthy=True/MinAvailableBreached " +
				"DisruptionTarget=False/NotDisrupted",
		},
		"it goes on with fewer than its minimum": {
			a: gangs.GroupCounts{Wanted: 3, Scheduled: 1, Ready: 1, WasReady: true, MinRunning: 1},
			b: gangs.GroupCounts{Wanted: 1, Scheduled: 1, Ready: 1}, phase: schedulerv1alpha1.PodGangPhaseRunning,
			want: "Initialized=True/PodGangPodsCreated Ready=True/MinimaReady Unhealthy=False/Healthy DisruptionTarget=False/NotDisrupted",
		},
		"it does not start with fewer": {
			a: gangs.GroupCounts{Wanted: 3, Scheduled: 3, Ready: 1, MinRunning: 1},
			b: gangs.GroupCounts{Wanted: 1, Scheduled: 1, Ready: 1}, phase: schedulerv1alpha1.PodGangPhaseStarting,
			want: "Initialized=True/PodGangPodsCreated Ready=False/MinimaNotReady Unhealthy=False/Healthy DisruptionTarget=False/NotDisrupted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := map[string]gangs.GroupCounts{"a": c.a, "b": c.b}
			status := gangs.Status(judged(two), func(name string) gangs.GroupCounts { return counts[name] }, "")
			var conditions []string
			for _, condition := range status.Conditions {
				conditions = append(conditions, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status,
					condition.Reason))
			}
			assert.Empty(t, cmp.Diff([]string{string(c.phase), c.want},
				[]string{string(status.Phase), strings.Join(conditions, " ")}), "phase, conditions (-want +got)")
		})
	}
}

func TestScheduledIsWrittenWhereNobodyElseDoes(t *testing.T) {
	says := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: schedulerv1alpha1.ConditionScheduled, Reason: reason}}
	}
	for name, c := range map[string]struct {
		before     []metav1.Condition
		pods       []string
		onNodes    int32
		want       metav1.ConditionStatus
		wantReason string
	}{
		"nobody has while pods are missing": {pods: []string{"p", "q"}},
		"once all pods are there": {pods: []string{"p", "q", "r"}, onNodes: 1, want: metav1.ConditionFalse,
			wantReason: "MinimaNotOnNodes"},
		"with the minimum on nodes": {pods: []string{"p", "q", "r"}, onNodes: 2, want: metav1.ConditionTrue,
			wantReason: "MinimaOnNodes"},
		"again, after a pod is gone": {before: says("MinimaOnNodes"), pods: []string{"p", "q"}, onNodes: 1,
			want: metav1.ConditionFalse, wantReason: "MinimaNotOnNodes"},
		"again, when the minimum is back": {before: says("MinimaNotOnNodes"), pods: []string{"p", "q"}, onNodes: 2,
			want: metav1.ConditionTrue, wantReason: "MinimaOnNodes"},
		"not where the pod grouper has said more": {before: says("Infeasible"),
			pods: []string{"p", "q", "r"}, onNodes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			made := gang(group("a", 2, c.pods...))
			made.Status.Conditions = c.before
			status := gangs.Status(made,
				func(string) gangs.GroupCounts { return gangs.GroupCounts{Wanted: 3, Scheduled: c.onNodes} }, "")
			got := meta.FindStatusCondition(status.Conditions, schedulerv1alpha1.ConditionScheduled)
			if got == nil && c.want == "" {
				return
			}
			require.NotNil(t, got, "Scheduled")
			require.Equal(t, c.want, got.Status, "Scheduled")
			require.Equal(t, c.wantReason, got.Reason, "Scheduled")
			names := strings.Contains(got.Message, ": a;")
			assert.Equal(t, c.want == metav1.ConditionFalse, names,
				"the message names the groups that lack pods, and no others: %q", got.Message)
		})
	}
}

func TestTheFirstStatusWaitsForThePodGrouper(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		age   time.Duration
		said  bool
		phase schedulerv1alpha1.PodGangPhase
		want  time.Duration
	}{
		"a new gang waits":                      {want: 2 * time.Second},
		"for the rest of the time":              {age: time.Second, want: time.Second},
		"but not longer":                        {age: 2 * time.Second},
		"nor when the pod grouper has said it":  {said: true},
		"a later status does not":               {phase: schedulerv1alpha1.PodGangPhasePending},
		"nor does that of a gang of the future": {age: -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			made, want := gang(), time.Time{}
			made.CreationTimestamp = metav1.NewTime(now.Add(-c.age))
			made.Status.Phase = c.phase
			if c.said {
				made.Status.Conditions = []metav1.Condition{{Type: schedulerv1alpha1.ConditionScheduled}}
			}
			if c.want > 0 {
				want = now.Add(c.want)
			}
			got := gangs.FirstStatusDue(made, now)
			assert.True(t, got.Equal(want), "due at %s, want %s", got, want)
		})
	}
}

func TestAGangSaysWhyItsPodsDoNotGetReady(t *testing.T) {
	counts := map[string]gangs.GroupCounts{
		"a": {Wanted: 3, Scheduled: 3, Ready: 1, Failing: "an image cannot be pulled (pods: 2)"},
		"b": {Wanted: 1, Scheduled: 1, Ready: 1, Failing: "nobody minds"},
	}
	status := gangs.Status(gang(group("a", 2, "p", "q", "r"), group("b", 1, "s")),
		func(name string) gangs.GroupCounts { return counts[name] }, "")
	ready := meta.FindStatusCondition(status.Conditions, schedulerv1alpha1.ConditionReady)
	require.NotNil(t, ready)
	assert.Equal(t, "a has fewer than 2 ready pods, as an image cannot be pulled (pods: 2)", ready.Message)
}

func TestAGangThatIsRecreatedSaysSo(t *testing.T) {
	status := gangs.Status(&schedulerv1alpha1.PodGang{}, nil, "replica 0 is recreated: because")
	condition := meta.FindStatusCondition(status.Conditions, schedulerv1alpha1.ConditionDisruptionTarget)
	want := "True GangTermination replica 0 is recreated: because"
	assert.Equal(t, want, fmt.Sprint(condition.Status, " ", condition.Reason, " ", condition.Message))
}
