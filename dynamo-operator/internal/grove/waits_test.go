package grove_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Replicas of a component wait for the reason that the scheduler gives for their gang: the base gang, which has the
// minimum of every component, or the gang that a further replica of a multinode component has for itself.
func TestWaitsRepeatWhatTheSchedulerSaysOfTheGang(t *testing.T) {
	gang := func(name, initialized string, scheduled metav1.ConditionStatus,
		sentence string) grovev1alpha1.PodGangStatus {
		status := grovev1alpha1.PodGangStatus{Name: name}
		if initialized != "" {
			status.Conditions = append(status.Conditions,
				metav1.Condition{Type: "Initialized", Status: "False", Message: initialized})
		}
		if scheduled != "" {
			status.Conditions = append(status.Conditions,
				metav1.Condition{Type: "Scheduled", Status: scheduled, Message: sentence})
		}
		return status
	}
	const short = "the gang needs one rack, and the nearest is z1/r7: 5 of 8 pods fit, short of 40 nvidia.com/gpu"
	for name, c := range map[string]struct {
		gangs                        []grovev1alpha1.PodGangStatus
		frontendPlaced, workerPlaced int32
		total                        int32
		hold                         bool
		want                         map[string]string
	}{
		"the base gang finds no room": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "", "False", short),
				gang("d-0-worker-0", "", "False", "the base gang waits")},
			want: map[string]string{"Frontend": short, "Worker": short},
		},
		"pods beyond the minimum find no room, of a gang that is placed": {
			gangs: []grovev1alpha1.PodGangStatus{
				gang("d-0", "", "True", `group "d-0-frontend": 1 pod beyond the minimum waits, since rack r7 has no room for more`),
			},
			workerPlaced: 3, frontendPlaced: 1,
			want: map[string]string{
				"Frontend": `group "d-0-frontend": 1 pod beyond the minimum waits, since rack r7 has no room for more`,
			},
		},
		"a further replica finds no room": {
			gangs: []grovev1alpha1.PodGangStatus{
				gang("d-0", "", "True", ""), gang("d-0-worker-0", "", "True", ""),
				gang("d-0-worker-1", "", "False", short),
				gang("d-0-worker-10", "", "False", "later"), gang("d-0-worker-2", "", "False", "later"),
			},
			frontendPlaced: 2, workerPlaced: 2,
			want: map[string]string{"Worker": short},
		},
		"a further replica finds no room, and the set lists only the first of its gangs": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0-worker-1", "", "False", short)}, total: 500,
			frontendPlaced: 2, workerPlaced: 2,
			want: map[string]string{"Worker": short},
		},
		"by number, not by letter": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "", "True", ""),
				gang("d-0-worker-10", "", "False", "later"), gang("d-0-worker-2", "", "False", short)},
			frontendPlaced: 2, workerPlaced: 2,
			want: map[string]string{"Worker": short},
		},
		"a gang of a component with a longer name is not this one's": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "", "True", ""),
				gang("d-0-worker-b-0", "", "False", "another's")},
			frontendPlaced: 2, workerPlaced: 2,
			want: map[string]string{},
		},
		"pods that are being created": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "2 of 6 pods exist", "", "")},
			want:  map[string]string{"Frontend": "2 of 6 pods exist", "Worker": "2 of 6 pods exist"},
		},
		"nothing has been said": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "", "", "")},
			want:  map[string]string{},
		},
		"nothing waits": {
			gangs:          []grovev1alpha1.PodGangStatus{gang("d-0", "", "False", "runs below its minimum")},
			frontendPlaced: 2, workerPlaced: 3,
			want: map[string]string{},
		},
		"held while a level is missing": {
			gangs: []grovev1alpha1.PodGangStatus{gang("d-0", "", "False", "pods that have a node: 0")}, hold: true,
			want: map[string]string{"Frontend": "no level rack, so that pods wait",
				"Worker": "no level rack, so that pods wait"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
			set.Status.PodGangStatuses = c.gangs
			set.Status.PodGangs = &grovev1alpha1.PodGangCounts{Total: max(c.total, int32(len(c.gangs)))}
			set.Status.Conditions = []metav1.Condition{
				{Type: grovev1alpha1.ConditionTopologyLevelsUnavailable, Status: "True",
					Message: "no level rack, so that pods wait"},
			}
			if c.hold {
				set.Annotations = map[string]string{
					grovev1alpha1.AnnotationMissingTopologyLevel: grovev1alpha1.MissingTopologyLevelHold,
				}
			}
			standing := grove.Standing{
				Deployment: deployment([]v1beta1.ComponentSpec{
					{Name: "Frontend"}, {Name: "Worker", Multinode: &v1beta1.Multinode{NodeCount: 2}},
				}),
				PodCliqueSet: set,
				Cliques: map[string]*grovev1alpha1.PodClique{"Frontend": {
					Spec:   grovev1alpha1.PodCliqueSpec{Replicas: 2},
					Status: grovev1alpha1.PodCliqueStatus{ScheduledReplicas: c.frontendPlaced},
				}},
				Groups: map[string]*grovev1alpha1.PodCliqueScalingGroup{"Worker": {
					Spec:   grovev1alpha1.PodCliqueScalingGroupSpec{Replicas: 3},
					Status: grovev1alpha1.PodCliqueScalingGroupStatus{ScheduledReplicas: c.workerPlaced},
				}},
			}
			standing.Deployment.Name = "d"
			assert.Empty(t, cmp.Diff(c.want, standing.Observation().Waits), "(-want +got)")
		})
	}
}

// If replicas have nodes, Grove says why they are not ready: on the PodClique of a single-node component, on the
// scaling group of a multinode one.
func TestWhatFailsIsSaidByComponent(t *testing.T) {
	said := func(message string) []metav1.Condition {
		return []metav1.Condition{{Type: "PodsFailing", Status: "True", Message: message}}
	}
	standing := grove.Standing{
		Deployment: deployment(
			[]v1beta1.ComponentSpec{{Name: "Frontend"}, {Name: "Planner"},
				{Name: "Worker", Multinode: &v1beta1.Multinode{NodeCount: 2}}}),
		PodCliqueSet: &grovev1alpha1.PodCliqueSet{},
		Cliques: map[string]*grovev1alpha1.PodClique{
			"Frontend": {Status: grovev1alpha1.PodCliqueStatus{Conditions: said("a container ends")}}, "Planner": {},
		},
		Groups: map[string]*grovev1alpha1.PodCliqueScalingGroup{
			"Worker": {Status: grovev1alpha1.PodCliqueScalingGroupStatus{Conditions: said(
				"an image cannot be pulled")}},
		},
	}
	want := map[string]string{"Frontend": "a container ends", "Worker": "an image cannot be pulled"}
	assert.Empty(t, cmp.Diff(want, standing.Observation().Fails), "(-want +got)")
}

func TestTheFrameworksWordsAreKeptWhereTheyAreNotAboutGangs(t *testing.T) {
	for reason, want := range map[string]string{
		grovev1alpha1.ReasonReconcileFailed: "said Grove",
		grovev1alpha1.ReasonBeingDeleted:    "said Grove",
		grovev1alpha1.ReasonGangsWaiting:    "",
		grovev1alpha1.ReasonReplicasMissing: "",
		grovev1alpha1.ReasonPodsNotReady:    "",
	} {
		set := &grovev1alpha1.PodCliqueSet{Status: grovev1alpha1.PodCliqueSetStatus{Conditions: []metav1.Condition{
			{Type: grovev1alpha1.ConditionReady, Status: "False", Reason: reason, Message: "said Grove"},
		}}}
		assert.Equal(t, want, (grove.Standing{Deployment: deployment(nil), PodCliqueSet: set}).Observation().Message,
			reason)
	}
}
