package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/status"
)

func TestCopiesBeyondReplicasInAGroupsStatus(t *testing.T) {
	for name, c := range map[string]struct {
		// away is the copy that lacks its pod; none if negative.
		away, copies int32
		counts       string
		ended        bool
	}{
		"it serves beside the others": {away: -1, copies: 3,
			counts: "2 copies, 3 scheduled, 3 available, 2 updated", ended: true},
		"it serves in place of one, which counts": {away: 1, copies: 3,
			counts: "2 copies, 2 scheduled, 2 available, 2 updated"},
		"it is not there yet, and is not missed": {away: 2, copies: 3,
			counts: "2 copies, 2 scheduled, 2 available, 2 updated", ended: true},
		"it is about to go, and counts for nothing": {away: -1, copies: 2,
			counts: "2 copies, 2 scheduled, 2 available, 2 updated", ended: true},
		"nobody knows of copies that an update adds": {away: -1,
			counts: "2 copies, 2 scheduled, 2 available, 2 updated",
			ended:  true},
	} {
		t.Run(name, func(t *testing.T) {
			set, observed, members := world(t)
			group, config := observed.ScalingGroups["s-0-g"], &set.Spec.Template.PodCliqueScalingGroups[0]
			further := children.PodClique(set, layout.Copy(set, 0, config, 2)[0], group)
			further.Status = *members[0].Status.DeepCopy()
			members = append(members, further)
			if c.away >= 0 {
				members[c.away].Status.ReadyReplicas, members[c.away].Status.ScheduledReplicas = 0, 0
			}
			group.Status.UpdateProgress = &grovev1alpha1.PodCliqueScalingGroupUpdateProgress{
				PodCliqueSetGenerationHash: group.Annotations[grovev1alpha1.AnnotationGenerationHash],
			}
			got := status.OfScalingGroup(group, members,
				status.Update{Turn: true, Copies: c.copies, Now: time.Unix(1_800_000_000, 0)})
			counts := fmt.Sprintf("%d copies, %d scheduled, %d available, %d updated",
				got.Replicas, got.ScheduledReplicas, got.AvailableReplicas, got.UpdatedReplicas)
			assert.Equal(t, c.counts, counts)
			assert.Equal(t, c.ended, got.UpdateProgress.UpdateEndedAt != nil, "the update has ended")
			for _, podClique := range got.UpdateProgress.UpdatedPodCliques {
				if podClique == further.Name && c.copies > 2 {
					t.Errorf("the update leads to %s", podClique)
				}
			}
			breach := meta.FindStatusCondition(got.Conditions, grovev1alpha1.ConditionMinAvailableBreached)
			assert.Equal(t, metav1.ConditionFalse, breach.Status, "its minimum is breached: %s", breach.Message)
		})
	}
}

func TestASetIsReadyWhileGangsOfCopiesBeyondReplicasWait(t *testing.T) {
	for copyIndex, want := range map[int32]metav1.ConditionStatus{1: metav1.ConditionFalse, 2: metav1.ConditionTrue} {
		set, observed, _ := world(t)
		gang := &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: "s-0-g-x", Labels: map[string]string{
			grovev1alpha1.LabelPodCliqueScalingGroup:             "s-0-g",
			grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: fmt.Sprint(copyIndex),
		}}}
		observed.Gangs = append(observed.Gangs, gang)
		got := status.OfSet(set, observed, nil)
		ready := meta.FindStatusCondition(got.Conditions, grovev1alpha1.ConditionReady)
		assert.Equal(t, want, ready.Status,
			"the gang of copy %d of 2 waits: Ready is %s: %s", copyIndex, ready.Status, ready.Message)
		assert.Len(t, got.PodGangStatuses, 3, "the gang of copy %d of 2 is not listed", copyIndex)
	}
}
