package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestCopiesBeyondReplicasFollowTheScale(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 1
  template:
    cliques: [{name: b, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`)
	config := &set.Spec.Template.PodCliqueScalingGroups[0]
	group := children.ScalingGroup(set, 0, config)
	turn := grovev1alpha1.PodCliqueSetReplicaUpdate{
		Surge: []grovev1alpha1.PodCliqueScalingGroupSurge{{Name: "g", Copies: 4}},
	}
	of := func(turn grovev1alpha1.PodCliqueSetReplicaUpdate) {
		set.Status.UpdateProgress = &grovev1alpha1.PodCliqueSetUpdateProgress{
			CurrentlyUpdating: []grovev1alpha1.PodCliqueSetReplicaUpdate{turn},
		}
	}
	is := func(what string, want int32) {
		t.Helper()
		assert.Equal(t, want, rollout.Copies(set, group), "%s: there are to be", what)
	}
	of(turn)
	for _, c := range []struct {
		what                                  string
		replicas, surge, minAvailable, copies int32
	}{
		{"as it was", 2, 2, 1, 4},
		{"one of them is an ordinary one now", 3, 2, 1, 4},
		{"all are", 4, 2, 1, 4},
		{"more are wanted", 7, 2, 1, 7},
		{"fewer are wanted", 1, 2, 1, 3},
		{"fewer may be beyond", 2, 1, 1, 3},
		{"none may be beyond", 2, 0, 1, 2},
		{"what is beyond would be of the base gang", 2, 2, 3, 2},
		{"none is wanted", 0, 2, 1, 0},
		{"the last may be", layout.MaxReplicas, 2, 1, layout.MaxReplicas},
	} {
		group.Spec.Replicas, config.MaxSurge, config.MinAvailable = c.replicas, &c.surge, &c.minAvailable
		is(c.what, c.copies)
	}
	group.Spec.Replicas, config.MaxSurge, config.MinAvailable = 2, ptr.To[int32](2), ptr.To[int32](1)
	turn.UpdateEndedAt = &metav1.Time{Time: start.Time}
	of(turn)
	is("the turn is over", 2)
	set.Status.UpdateProgress = nil
	is("there is no update", 2)
	set = nil
	is("the set is gone", 2)
}
