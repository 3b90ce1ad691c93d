package status_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func podClique(replicas, minAvailable int32, reached bool) *grovev1alpha1.PodClique {
	made := &grovev1alpha1.PodClique{Spec: grovev1alpha1.PodCliqueSpec{Replicas: replicas, MinAvailable: &minAvailable}}
	made.Labels = map[string]string{grovev1alpha1.LabelPodTemplateHash: "new"}
	made.Annotations = map[string]string{grovev1alpha1.AnnotationGenerationHash: "generation"}
	made.Status.ReachedMinAvailable = reached
	return made
}

// goingOnWith lets a PodClique keep running with fewer pods than it starts with.
func goingOnWith(pods int32, podClique *grovev1alpha1.PodClique) *grovev1alpha1.PodClique {
	podClique.Spec.MinRunning = &pods
	return podClique
}

// existing makes a pod of each letter: g gated, s scheduled, r ready, o ready but of an old template, d ready but being
// deleted, f failed.
func existing(letters string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, letter := range letters {
		pod := &corev1.Pod{}
		pod.Labels = map[string]string{grovev1alpha1.LabelPodTemplateHash: "new"}
		if letter == 'g' {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "any"}}
		} else {
			pod.Spec.NodeName = "node"
		}
		if strings.ContainsRune("rodf", letter) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		switch letter {
		case 'o':
			pod.Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
		case 'd':
			pod.DeletionTimestamp = &metav1.Time{}
		case 'f':
			pod.Status.Phase = corev1.PodFailed
		}
		pods = append(pods, pod)
	}
	return pods
}

func conditions(all []metav1.Condition) string {
	var words []string
	for _, condition := range all {
		words = append(words, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
	}
	return strings.Join(words, " ")
}

func TestOfPodClique(t *testing.T) {
	for name, c := range map[string]struct {
		podClique  *grovev1alpha1.PodClique
		pods       string
		counts     string
		conditions string
		reached    bool
		current    bool
	}{
		"nothing yet": {
			podClique: podClique(2, 1, false), counts: "0 0 0 0 0",
			conditions: "PodCliqueScheduled=False/InsufficientScheduledPods MinAvailableBreached=False/NeverAvailable",
		},
		"gated and scheduled": {
			podClique: podClique(3, 2, false), pods: "gss", counts: "3 2 0 3 1", current: true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=False/NeverAvailable",
		},
		"the minimum is reached for the first time": {
			podClique: podClique(3, 2, false), pods: "rrg", counts: "3 2 2 3 1", reached: true, current: true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=False/SufficientReadyPods",
		},
		"ready pods are lost": {
			podClique: podClique(3, 2, true), pods: "rss", counts: "3 3 1 3 0", reached: true, current: true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=True/InsufficientReadyPods",
		},
		"scheduled pods are lost": {
			podClique: podClique(3, 2, true), pods: "rgg", counts: "3 1 1 3 2", reached: true, current: true,
			conditions: "PodCliqueScheduled=False/InsufficientScheduledPods MinAvailableBreached=True/ScheduledReplicasBelowMinAvailable",
		},
		"old pods count, ended ones do not": {
			podClique: podClique(2, 2, true), pods: "rodf", counts: "2 2 2 1 0", reached: true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=False/SufficientReadyPods",
		},
		"it goes on with fewer than it started with": {
			podClique: goingOnWith(2, podClique(4, 3, true)), pods: "rrsg", counts: "4 3 2 4 1", reached: true,
			current:    true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=False/SufficientReadyPods",
		},
		"it does not start with fewer": {
			podClique: goingOnWith(2, podClique(4, 3, false)), pods: "rrgg", counts: "4 2 2 4 2", current: true,
			conditions: "PodCliqueScheduled=False/InsufficientScheduledPods MinAvailableBreached=False/NeverAvailable",
		},
		"fewer than it goes on with are a breach": {
			podClique: goingOnWith(2, podClique(4, 3, true)), pods: "rsss", counts: "4 4 1 4 0", reached: true,
			current:    true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=True/InsufficientReadyPods",
		},
		"scaled to zero, it lacks nothing": {
			podClique: podClique(0, 2, true), counts: "0 0 0 0 0", reached: true, current: true,
			conditions: "PodCliqueScheduled=True/SufficientScheduledPods MinAvailableBreached=False/SufficientReadyPods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.OfPodClique(c.podClique, existing(c.pods), "", status.Update{})
			counts := fmt.Sprint(got.Replicas, got.ScheduledReplicas, got.ReadyReplicas, got.UpdatedReplicas,
				got.ScheduleGatedReplicas)
			want := []any{c.counts, c.conditions, c.reached, c.current}
			assert.Empty(t, cmp.Diff(want, []any{counts, conditions(got.Conditions), got.ReachedMinAvailable,
				got.CurrentPodTemplateHash != nil}),
				"counts (all, scheduled, ready, updated, gated), conditions, reached, current (-want +got)")
		})
	}
}

// world is a set with a standalone clique and a group, all ready.
func world(t *testing.T) (*grovev1alpha1.PodCliqueSet, status.Observed, []*grovev1alpha1.PodClique) {
	t.Helper()
	set := fixture.Set(t, `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: a, spec: {podSpec: {}}}, {name: b, spec: {podSpec: {}}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2}]
`)
	alone := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	template, generation := alone.Labels[grovev1alpha1.LabelPodTemplateHash],
		alone.Annotations[grovev1alpha1.AnnotationGenerationHash]
	alone.Status = grovev1alpha1.PodCliqueStatus{
		Replicas: 1, ReadyReplicas: 1, ScheduledReplicas: 1, UpdatedReplicas: 1,
		CurrentPodTemplateHash: &template, CurrentPodCliqueSetGenerationHash: &generation,
	}
	config := &set.Spec.Template.PodCliqueScalingGroups[0]
	group := children.ScalingGroup(set, 0, config)
	var members []*grovev1alpha1.PodClique
	for copyIndex := range int32(2) {
		member := children.PodClique(set, layout.Copy(set, 0, config, copyIndex)[0], group)
		member.Status = *alone.Status.DeepCopy()
		members = append(members, member)
	}
	group.Status = status.OfScalingGroup(group, members, status.Update{})
	gangOf := func(name string, phase schedulerv1alpha1.PodGangPhase) *schedulerv1alpha1.PodGang {
		return &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: schedulerv1alpha1.PodGangStatus{Phase: phase}}
	}
	return set, status.Observed{
		PodCliques:    map[string]*grovev1alpha1.PodClique{alone.Name: alone},
		ScalingGroups: map[string]*grovev1alpha1.PodCliqueScalingGroup{group.Name: group},
		Gangs:         []*schedulerv1alpha1.PodGang{gangOf("s-0-g-0", "Running"), gangOf("s-0", "Running")},
		Topology:      topology.Resolution{},
	}, members
}

func TestOfScalingGroup(t *testing.T) {
	for name, c := range map[string]struct {
		change func(group *grovev1alpha1.PodCliqueScalingGroup,
			members []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique
		counts string
		breach string
	}{
		"all is well": {
			change: func(_ *grovev1alpha1.PodCliqueScalingGroup,
				members []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique {
				return members
			},
			counts: "2 2 2 2", breach: "MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas",
		},
		"a copy is missing": {
			change: func(_ *grovev1alpha1.PodCliqueScalingGroup,
				members []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique {
				return members[1:]
			},
			counts: "1 1 1 1", breach: "MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas",
		},
		"the minimum is lost": {
			change: func(group *grovev1alpha1.PodCliqueScalingGroup,
				members []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique {
				group.Status.ReachedMinAvailable = true
				members[0].Status.ReadyReplicas, members[1].Status.ReadyReplicas = 0, 0
				return members
			},
			counts: "2 2 0 2", breach: "MinAvailableBreached=True/InsufficientAvailablePodCliqueScalingGroupReplicas",
		},
		"a status that is older than the spec still counts pods, but proves no update": {
			change: func(_ *grovev1alpha1.PodCliqueScalingGroup,
				members []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique {
				members[0].Generation = 9
				return members
			},
			counts: "2 2 2 1", breach: "MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas",
		},
		"never available": {
			change: func(group *grovev1alpha1.PodCliqueScalingGroup,
				_ []*grovev1alpha1.PodClique) []*grovev1alpha1.PodClique {
				group.Status.ReachedMinAvailable = false
				return nil
			},
			counts: "0 0 0 0", breach: "MinAvailableBreached=False/NeverAvailable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, observed, members := world(t)
			group := observed.ScalingGroups["s-0-g"]
			got := status.OfScalingGroup(group, c.change(group, members), status.Update{})
			counts := fmt.Sprint(got.Replicas, got.ScheduledReplicas, got.AvailableReplicas, got.UpdatedReplicas)
			assert.Empty(t, cmp.Diff([]string{c.counts, c.breach},
				[]string{counts, conditions(got.Conditions)}),
				"counts (all, scheduled, available, updated), condition (-want +got)")
		})
	}
}

func TestATemplateIsRecordedWithTheDecisionAboutIt(t *testing.T) {
	set, observed, _ := world(t)
	set.Status.CurrentGenerationHash = ptr.To("before")
	observed.Updating.Undecided = true
	assert.Equal(t, "before", *status.OfSet(set, observed, nil).CurrentGenerationHash)
	observed.Updating.Undecided = false
	assert.NotEqual(t, "before", *status.OfSet(set, observed, nil).CurrentGenerationHash)
}

func TestOfSet(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(set *grovev1alpha1.PodCliqueSet, observed *status.Observed)
		outcome error
		counts  string
		reason  string
		message string
	}{
		"all is well": {counts: "1 1 1", reason: "AllReplicasAvailable", message: "1 of 1 replicas are available"},
		"a second replica is wanted": {
			change: func(set *grovev1alpha1.PodCliqueSet, _ *status.Observed) { set.Spec.Replicas = 2 },
			counts: "1 1 1", reason: "ReplicasMissing",
			message: "1 of 2 replicas are available; not created yet: PodClique s-1-a, PodCliqueScalingGroup s-1-g",
		},
		"a group is being scaled out": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.ScalingGroups["s-0-g"].Spec.Replicas = 3
			},
			counts: "1 1 0", reason: "ReplicasMissing",
			message: "1 of 1 replicas are available; not created yet: copies of PodCliqueScalingGroup s-0-g",
		},
		"the scheduler says why a gang waits": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.PodCliques["s-0-a"].Status.ReadyReplicas = 0
				for _, gang := range observed.Gangs {
					gang.Status.Phase = "Pending"
				}
				meta.SetStatusCondition(&observed.Gangs[0].Status.Conditions, metav1.Condition{
					Type: "Scheduled", Status: "False", Reason: "Infeasible", Message: "no rack has room for 4 pods",
				})
			},
			counts: "1 0 1", reason: "GangsWaiting",
			message: "PodGang s-0-g-0 waits: no rack has room for 4 pods (and 1 more wait); 0 of 1 replicas are available",
		},
		"no gang has been judged yet": {
			change: func(_ *grovev1alpha1.PodCliqueSet,
				observed *status.Observed) {
				observed.Gangs[0].Status.Phase = ""
			},
			counts: "1 1 1", reason: "GangsWaiting",
			message: "PodGang s-0-g-0 waits: it has not been scheduled yet; 1 of 1 replicas are available",
		},
		"pods start": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.Gangs[1].Status.Phase = "Starting"
			},
			counts: "1 1 1", reason: "PodsNotReady",
			message: "PodGang s-0 starts: its pods are not ready yet; 1 of 1 replicas are available",
		},
		"pods beyond the minimum find no room": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				for i := range observed.Gangs {
					meta.SetStatusCondition(&observed.Gangs[i].Status.Conditions, metav1.Condition{
						Type: "Scheduled", Status: "True", Reason: "Placed", Message: `group "s-0-a": 3 pods beyond the minimum wait, since rack r1 has no room for more`,
					})
				}
			},
			counts: "1 1 1", reason: "AllReplicasAvailable",
			message: `1 of 1 replicas are available; of PodGang s-0, group "s-0-a": 3 pods beyond the minimum wait, since rack r1 has no room for more (and so of 1 more)`,
		},
		"pods run an old template": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.PodCliques["s-0-a"].Status.UpdatedReplicas = 0
			},
			counts: "1 1 0", reason: "AllReplicasAvailable", message: "1 of 1 replicas are available",
		},
		"a group is being scaled in and keeps what it needs": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.ScalingGroups["s-0-g"].Generation = 9
				observed.ScalingGroups["s-0-g"].Spec.Replicas = 1
			},
			counts: "1 1 0", reason: "AllReplicasAvailable", message: "1 of 1 replicas are available",
		},
		"a group is being scaled in, and perhaps its available copy goes": {
			change: func(_ *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				observed.ScalingGroups["s-0-g"].Generation = 9
				observed.ScalingGroups["s-0-g"].Spec.Replicas = 1
				observed.ScalingGroups["s-0-g"].Status.AvailableReplicas = 1
			},
			counts: "1 0 0", reason: "PodsNotReady",
			message: "the status of some PodCliques is not up to date yet; 0 of 1 replicas are available",
		},
		"conflicts and objects that are gone are no errors": {
			outcome: errors.Join(
				apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed")),
				fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")),
			),
			counts: "1 1 1", reason: "AllReplicasAvailable", message: "1 of 1 replicas are available",
		},
		"a set that is being deleted waits for what is still there": {
			change: func(set *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				now := metav1.Now()
				set.DeletionTimestamp = &now
				observed.PodCliques["s-0-a"].Status.ScheduledReplicas = 1
			},
			counts: "1 1 1", reason: "BeingDeleted",
			message: "being deleted; still there: PodClique s-0-a (pods on nodes: 1), PodCliqueScalingGroup s-0-g",
		},
		"an error goes first": {
			outcome: errors.Join(errors.New("applying Service s-0: refused"), errors.New("second")),
			counts:  "1 1 1", reason: "ReconcileFailed", message: "applying Service s-0: refused",
		},
		"scaled to zero": {
			change: func(set *grovev1alpha1.PodCliqueSet, observed *status.Observed) {
				set.Spec.Replicas, observed.Gangs = 0, nil
			},
			counts: "0 0 0", reason: "AllReplicasAvailable", message: "0 of 0 replicas are available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, observed, _ := world(t)
			if c.change != nil {
				c.change(set, &observed)
			}
			got := status.OfSet(set, observed, c.outcome)
			ready := meta.FindStatusCondition(got.Conditions, grovev1alpha1.ConditionReady)
			want := []string{c.counts, c.reason, c.message}
			counts := fmt.Sprint(got.Replicas, got.AvailableReplicas, got.UpdatedReplicas)
			assert.Empty(t, cmp.Diff(want, []string{counts, ready.Reason, ready.Message}),
				"counts (all, available, updated), reason, message of Ready (-want +got)")
		})
	}
}

// TestWhatAGangIsMadeOfIsNoNewsOfItsSet: a change of a gang's contents causes no write of its set's status.
func TestWhatAGangIsMadeOfIsNoNewsOfItsSet(t *testing.T) {
	set, observed, _ := world(t)
	gang := observed.Gangs[0]
	said := func(generation int64, message string) grovev1alpha1.PodCliqueSetStatus {
		gang.Generation = generation
		gang.Status.Conditions = []metav1.Condition{{
			Type: "Ready", Status: "True", Reason: "MinimaReady", Message: message, ObservedGeneration: generation,
		}}
		return status.OfSet(set, observed, nil)
	}
	set.Status = said(1, "every group has its minimum")
	assert.Empty(t, cmp.Diff(set.Status, said(2, "every group has its minimum")),
		"another generation of a gang has the set's status written (-before +after)")
	assert.NotEmpty(t, cmp.Diff(set.Status, said(2, "another message")),
		"another message of a gang is not repeated by the set")
	gang.Status.PlacementScore = ptr.To(1.0)
	repeated := said(2, "another message").PodGangStatuses
	assert.InDelta(t, 1, *repeated[1].PlacementScore, 0)
	assert.Nil(t, repeated[0].PlacementScore)
	assert.Equal(t, int64(2), gang.Status.Conditions[0].ObservedGeneration,
		"the gang's own condition has lost its generation")
}

func TestLastErrors(t *testing.T) {
	then, now := time.Unix(1000, 0), time.Unix(2000, 0)
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("quota"))
	taken := fmt.Errorf("applying: %w", apply.ForeignError{Kind: "Service", Name: "s"})
	before := status.LastErrors(nil, refused, then)
	got := status.LastErrors(before, errors.Join(refused, errors.Join(taken, errors.New("odd"))), now)
	var lines []string
	for _, entry := range got {
		lines = append(lines, fmt.Sprint(entry.Code, " ", entry.ObservedAt.Unix()))
	}
	assert.Empty(t, cmp.Diff([]string{"Forbidden 1000", "NameTaken 2000", "ReconcileFailed 2000"}, lines),
		"code and time of each error (-want +got)")
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p",
		errors.New("namespace n is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	passing := errors.Join(
		fmt.Errorf("creating: %w", terminating), fmt.Errorf("writing: %w", context.Canceled),
		fmt.Errorf("applying: %w", apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p",
			errors.New("changed"))),
	)
	assert.Empty(t, status.LastErrors(got, passing, now), "what passes by itself is called an error")
	assert.Empty(t, status.LastErrors(got, nil, now), "errors stay although all went well")
	assert.Len(t, status.LastErrors(nil, errors.Join(slices.Repeat([]error{refused}, 2000)...), now), 20)
}
