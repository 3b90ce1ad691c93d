package status_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
)

func TestUpdating(t *testing.T) {
	began := metav1.Unix(1_800_000_000, 0)
	underWay := &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: began}
	over := &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: began, UpdateEndedAt: &began}
	for name, c := range map[string]struct {
		progress *grovev1alpha1.PodCliqueSetUpdateProgress
		updating status.Updating
		outcome  error
		want     string
		ready    string
	}{
		"a set that was never updated has no condition": {
			updating: status.Updating{Updated: 3, Pods: 3}, want: "absent", ready: "1 of 1 replicas are available",
		},
		"an update waits": {
			progress: underWay, updating: status.Updating{Replica: 0, Waiting: "PodClique s-0-a has 1 of 2 ready pods",
				Updated: 1, Pods: 3},
			want:  "True UpdateInProgress: 1 of 3 pods have the template; replica 0: PodClique s-0-a has 1 of 2 ready pods",
			ready: "1 of 1 replicas are available; updating replica 0: PodClique s-0-a has 1 of 2 ready pods",
		},
		"what it waits for does not come": {
			progress: underWay, updating: status.Updating{Replica: 7, Waiting: "PodClique s-7-a has 1 of 2 ready pods",
				Why: "the image x cannot be pulled", Pods: 3},
			want: "True UpdateStopped: 0 of 3 pods have the template; replica 7: PodClique s-7-a has 1 of 2 ready pods: " +
				"the image x cannot be pulled",
			ready: "1 of 1 replicas are available; updating replica 7: PodClique s-7-a has 1 of 2 ready pods",
		},
		"several replicas are updated together": {
			progress: underWay, updating: status.Updating{Replica: 1, Also: []int32{0, 2}, Waiting: "w",
				Why:  "no rack has room",
				Pods: 3},
			want: "True UpdateStopped: 0 of 3 pods have the template; replica 1: w: no rack has room; also being updated: " +
				"replica 0, 2",
			ready: "1 of 1 replicas are available; updating replica 1: w",
		},
		"a pass that came to nothing knows how many at least": {
			progress: underWay, updating: status.Updating{Updated: 2, Pods: 3}, outcome: errors.New("listing pods: no"),
			want: "True UpdateInProgress: 2 of 3 pods have the template", ready: "listing pods: no",
		},
		"with OnDelete it is the user who is waited for": {
			progress: underWay, updating: status.Updating{OnDelete: true, Waiting: "pods stay", Pods: 3},
			want:  "True PodsAwaitDeletion: 0 of 3 pods have the template; replica 0: pods stay",
			ready: "1 of 1 replicas are available; updating replica 0: pods stay",
		},
		"an update that has ended": {
			progress: over, updating: status.Updating{Updated: 3, Pods: 3},
			want:  "False UpdateFinished: all pods have the template",
			ready: "1 of 1 replicas are available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, observed, _ := world(t)
			set.Generation = 4
			observed.Update, observed.Updating = c.progress, c.updating
			conditions := status.OfSet(set, observed, c.outcome).Conditions
			got := "absent"
			if condition := meta.FindStatusCondition(conditions, grovev1alpha1.ConditionUpdating); condition != nil {
				got = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
				assert.Equal(t, int64(4), condition.ObservedGeneration, "it is of generation")
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.ready, meta.FindStatusCondition(conditions, grovev1alpha1.ConditionReady).Message)
		})
	}
}
