package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/rollout"
)

var start = metav1.Unix(1_800_000_000, 0)

// recorded is the progress of an update in which these replicas have a turn.
func recorded(turns ...int32) *grovev1alpha1.PodCliqueSetUpdateProgress {
	progress := &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: start}
	for _, replica := range turns {
		progress.CurrentlyUpdating = append(progress.CurrentlyUpdating,
			grovev1alpha1.PodCliqueSetReplicaUpdate{ReplicaIndex: replica, UpdateStartedAt: start})
	}
	return progress
}

func ended() *grovev1alpha1.PodCliqueSetUpdateProgress {
	progress := recorded()
	progress.UpdateEndedAt = &start
	return progress
}

// states reads a letter for each replica: n new, s by the status alone not known to be new, o old, b old and below a
// minimum, u old and without a node.
func states(letters string) []rollout.State {
	var all []rollout.State
	for i, letter := range letters {
		all = append([]rollout.State{{ // The order does not matter.
			Replica: int32(i), Outdated: letter != 'n', HasOld: !strings.ContainsRune("ns", letter),
			Scheduled: letter != 'u', Available: !strings.ContainsRune("ub", letter),
		}}, all...)
	}
	return all
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		strategy grovev1alpha1.UpdateStrategyType
		before   *grovev1alpha1.PodCliqueSetUpdateProgress
		changed  bool
		states   string
		surplus  bool
		// most is how many replicas may have a turn.
		most int32
		// pods are those of every replica that is not new, as in TestNext.
		pods string
		want string
	}{
		"a set that was never updated is left alone": {states: "ss", pods: "O", want: "no update"},
		"an update that has ended is over": {before: ended(), states: "ns", pods: "O",
			want: "started at 0, ended at 0"},
		"a pod of another template begins the first update": {states: "no", pods: "o",
			want: "started at 60, turn of 1 since 60, waits"},
		"a pod of another template that comes after an update begins anew": {before: ended(), states: "no", pods: "o",
			want: "started at 60, turn of 1 since 60, waits"},
		"a change begins with the turn of the first replica": {changed: true, states: "oo", pods: "o",
			want: "started at 60, turn of 0 since 60, waits"},
		"a change after an update begins anew": {changed: true, before: ended(), states: "oo", pods: "o",
			want: "started at 60, turn of 0 since 60, waits"},
		"a turn that is recorded is used": {before: recorded(0), states: "oo", pods: "o",
			want: "started at 0, turn of 0 since 0, waits, deletes a0"},
		"a second change stays with the replica that has begun": {
			changed: true, before: recorded(1), states: "uoo", pods: "o",
			want: "started at 60, turn of 1 since 0, waits, deletes a0",
		},
		"a replica that has begun is finished first": {before: recorded(2), states: "uoo", pods: "o",
			want: "started at 0, turn of 2 since 0, waits, deletes a0"},
		"what stands nowhere goes before what is not ready": {before: recorded(), states: "obuo", pods: "o",
			want: "started at 0, turn of 2 since 60, waits"},
		"what is not ready goes before what is": {before: recorded(), states: "obob", pods: "o",
			want: "started at 0, turn of 1 since 60, waits"},
		"a replica that is done passes its turn on": {before: recorded(0), states: "noo", pods: "o",
			want: "started at 0, turn of 1 since 60, waits"},
		"statuses that lag prove nothing": {before: recorded(0), states: "oo", pods: "O",
			want: "started at 0, ended at 60"},
		"the turn of a replica that was scaled away is lost": {before: recorded(5), states: "no", pods: "o",
			want: "started at 0, turn of 1 since 60, waits"},
		"the last replica ends it": {before: recorded(1), states: "nn", pods: "O", want: "started at 0, ended at 60"},
		"what was scaled in and is still there may come back": {
			before: recorded(1), states: "nn", pods: "O", surplus: true, want: "started at 0",
		},
		"two begin where two may be unavailable": {
			changed: true, most: 2, states: "ooo", pods: "o",
			want: "started at 60, turn of 0 since 60, turn of 1 since 60, waits, also 1",
		},
		"two go on together": {
			before: recorded(0, 1), most: 2, states: "ooo", pods: "o",
			want: "started at 0, turn of 0 since 0, turn of 1 since 0, waits, also 1, deletes a0, deletes a0",
		},
		"one of two that is done passes its turn on": {
			before: recorded(0, 1), most: 2, states: "noo", pods: "o",
			want: "started at 0, turn of 1 since 0, turn of 2 since 60, waits, also 2, deletes a0",
		},
		"those that have begun are finished first, also if fewer may be unavailable now": {
			before: recorded(1, 2), most: 1, states: "oooo", pods: "o",
			want: "started at 0, turn of 1 since 0, turn of 2 since 0, waits, also 2, deletes a0, deletes a0",
		},
		"fewer may be unavailable, and those that are done have no successors": {
			before: recorded(0, 1, 2), most: 1, states: "nnooo", pods: "o",
			want: "started at 0, turn of 2 since 0, waits, deletes a0",
		},
		"more replicas than there are": {
			before: recorded(0, 1), most: 9, states: "no", pods: "o",
			want: "started at 0, turn of 1 since 0, waits, deletes a0",
		},
		"two that are done end it": {before: recorded(0, 1), most: 2, states: "nn", pods: "O",
			want: "started at 0, ended at 60"},
		"OnDelete deletes nothing": {strategy: grovev1alpha1.OnDelete, before: recorded(0), states: "ob",
			pods: "x", want: "started at 0, waits"},
		"OnDelete ends when all pods are new": {strategy: grovev1alpha1.OnDelete, before: recorded(), states: "nn",
			want: "started at 0, ended at 60"},
		"OnDelete takes note of what it begins": {strategy: grovev1alpha1.OnDelete, changed: true,
			states: "oo", pods: "o",
			want: "started at 60, waits"},
	} {
		t.Run(name, func(t *testing.T) {
			situation := rollout.Situation{
				Strategy: c.strategy, MaxUnavailable: c.most, Before: c.before, Changed: c.changed,
				Now:     start.Add(time.Minute),
				States:  states(c.states),
				Surplus: func() bool { return c.surplus },
				Replica: func(replica int32) rollout.Replica {
					letters := c.pods
					if c.states[replica] == 'n' {
						letters = "O"
					}
					return rollout.Replica{Cliques: []rollout.Clique{clique("a", 1, 1, letters)}}
				},
			}
			assert.Equal(t, c.want, describe(rollout.Decide(situation)))
		})
	}
}

func TestOfSeveralReplicasTheOneIsReportedThatIsStopped(t *testing.T) {
	cliques := []rollout.Clique{clique("a", 2, 1, "Xo"), troubled(clique("b", 2, 1, "Xo")), clique("c", 2, 1, "Oo")}
	got := rollout.Decide(rollout.Situation{
		Before: recorded(0, 1, 2), MaxUnavailable: 3, Now: start.Time,
		States: states("ooo"),
		Replica: func(replica int32) rollout.Replica {
			return rollout.Replica{Cliques: cliques[replica : replica+1]}
		},
	})
	assert.Equal(t, int32(1), got.Replica, "reported is replica")
	assert.Equal(t, "PodClique b has 1 of 2 ready pods", got.Waiting, "reported is replica")
	require.NotEmpty(t, got.Why, "reported is replica")
	assert.Equal(t, []int32{0, 2}, got.Also, "reported is replica")
	require.Len(t, got.Delete, 1, "replaced")
	assert.Equal(t, "c1", got.Delete[0].Name, "replaced")
}

func describe(decision rollout.Decision) string {
	progress := decision.Progress
	if progress == nil {
		return "no update"
	}
	since := func(moment metav1.Time) int { return int(moment.Sub(start.Time).Seconds()) }
	words := []string{fmt.Sprintf("started at %d", since(progress.UpdateStartedAt))}
	if progress.UpdateEndedAt != nil {
		words = append(words, fmt.Sprintf("ended at %d", since(*progress.UpdateEndedAt)))
	}
	for _, turn := range progress.CurrentlyUpdating {
		words = append(words, fmt.Sprintf("turn of %d since %d", turn.ReplicaIndex, since(turn.UpdateStartedAt)))
	}
	if decision.Waiting != "" {
		words = append(words, "waits")
	}
	for _, replica := range decision.Also {
		words = append(words, fmt.Sprint("also ", replica))
	}
	for _, pod := range decision.Delete {
		words = append(words, "deletes "+pod.Name)
	}
	return strings.Join(words, ", ")
}

func TestUpdating(t *testing.T) {
	set := &grovev1alpha1.PodCliqueSet{}
	assert.False(t, rollout.Updating(set, 0), "a set that was never updated has a replica that is being updated")
	set.Status.UpdateProgress = recorded(1)
	assert.False(t, rollout.Updating(set, 0), "replica 1, and no other, is being updated")
	assert.True(t, rollout.Updating(set, 1), "replica 1, and no other, is being updated")
}
