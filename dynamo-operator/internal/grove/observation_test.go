package grove_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Each count is another number, so that a mix-up shows.
func TestReplicasAreThoseOfWhatScales(t *testing.T) {
	standing := grove.Standing{
		Deployment: deployment(
			[]v1beta1.ComponentSpec{{Name: "Front"}, {Name: "Wide", Multinode: &v1beta1.Multinode{NodeCount: 2}},
				{Name: "Unmade"}}),
		Cliques: map[string]*grovev1alpha1.PodClique{"Front": {
			Spec: grovev1alpha1.PodCliqueSpec{Replicas: 9},
			Status: grovev1alpha1.PodCliqueStatus{Replicas: 8, ScheduledReplicas: 7, ReadyReplicas: 6,
				UpdatedReplicas: 5},
		}},
		Groups: map[string]*grovev1alpha1.PodCliqueScalingGroup{"Wide": {
			Spec: grovev1alpha1.PodCliqueScalingGroupSpec{Replicas: 19},
			Status: grovev1alpha1.PodCliqueScalingGroupStatus{Replicas: 18, ScheduledReplicas: 17,
				AvailableReplicas: 16,
				UpdatedReplicas:   15},
		}},
	}
	observed := standing.Observation()
	want := map[string]v1beta1.ServiceReplicaStatus{
		"Front": {ComponentKind: "PodClique", ComponentName: "d-0-front", Replicas: 8, ScheduledReplicas: 7,
			ReadyReplicas:   6,
			UpdatedReplicas: 5},
		"Wide": {ComponentKind: "PodCliqueScalingGroup", ComponentName: "d-0-wide", Replicas: 18, ScheduledReplicas: 17,
			ReadyReplicas: 16, UpdatedReplicas: 15},
	}
	assert.Empty(t, cmp.Diff(want, observed.Services), "services (-want +got)")
	assert.Empty(t, cmp.Diff(map[string]int32{"Front": 9, "Wide": 19}, observed.Wanted), "wanted (-want +got)")
}

func TestWhatGroveHasLookedAtAndReplaced(t *testing.T) {
	begun, ended := metav1.Unix(1, 0), metav1.Unix(2, 0)
	for name, c := range map[string]struct {
		generation, seen int64
		progress         *grovev1alpha1.PodCliqueSetUpdateProgress
		current, settled bool
	}{
		"nothing of the last change": {2, 1, nil, false, true},
		"all of it":                  {2, 2, nil, true, true},
		"all of it, and it is replacing": {2, 2, &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: begun},
			true, false},
		"all of it, and it has replaced": {2, 2,
			&grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: begun, UpdateEndedAt: &ended}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Generation: c.generation}}
			set.Status.ObservedGeneration, set.Status.UpdateProgress = c.seen, c.progress
			observed := grove.Standing{Deployment: deployment(nil), PodCliqueSet: set}.Observation()
			assert.True(t, observed.Exists)
			assert.Equal(t, c.current, observed.Current, "current")
			assert.Equal(t, c.settled, observed.Settled, "settled")
		})
	}
}

func TestLeftovers(t *testing.T) {
	named := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	going := named("going")
	going.DeletionTimestamp = new(metav1.Unix(1, 0))
	left := grove.Standing{Services: []*corev1.Service{named("kept"), named("left"), going}}.Leftovers(
		[]client.Object{named("kept")})
	require.Len(t, left, 1)
	assert.Equal(t, "left", left[0].GetName())
}
