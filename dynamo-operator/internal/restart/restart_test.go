package restart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/restart"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func TestNext(t *testing.T) {
	running := backend.Observation{Exists: true, Current: true, Settled: true, Wanted: map[string]int32{"A": 1, "B": 1, "C": 1},
		Services: map[string]v1beta1.ServiceReplicaStatus{"A": ready, "B": ready, "C": ready}}
	replacing := running
	replacing.Settled = false
	halfReady := running
	halfReady.Services = map[string]v1beta1.ServiceReplicaStatus{"A": {Replicas: 1}, "B": ready, "C": ready}

	parallel := &v1beta1.RestartStrategy{Type: v1beta1.RestartStrategyParallel}
	ordered := &v1beta1.RestartStrategy{Order: []string{"C", "A", "B"}}
	at := func(restarted ...string) *v1beta1.RestartStatus {
		return &v1beta1.RestartStatus{ObservedID: "1", Phase: v1beta1.RestartPhaseRestarting, Restarted: restarted}
	}
	completed := &v1beta1.RestartStatus{ObservedID: "1", Phase: v1beta1.RestartPhaseCompleted, Restarted: []string{"A", "B", "C"}}
	old := &v1beta1.RestartStatus{ObservedID: "0", Phase: v1beta1.RestartPhaseCompleted, Restarted: []string{"A", "B", "C"}}
	for name, c := range map[string]struct {
		strategy *v1beta1.RestartStrategy
		last     *v1beta1.RestartStatus
		observed backend.Observation
		want     *v1beta1.RestartStatus
	}{
		"the first component":                        {observed: running, want: at("A")},
		"in the order that was asked for":            {strategy: ordered, observed: running, want: at("C")},
		"a new id begins again":                      {last: old, observed: running, want: at("A")},
		"not before the last one is back":            {last: at("A"), observed: replacing, want: at("A")},
		"nor while it is not ready":                  {last: at("A"), observed: halfReady, want: at("A")},
		"the next component":                         {last: at("A"), observed: running, want: at("A", "B")},
		"all at once":                                {strategy: parallel, observed: running, want: at("A", "B", "C")},
		"complete when the last one is back":         {last: at("A", "B", "C"), observed: running, want: completed},
		"an id that was seen starts nothing":         {last: completed, observed: halfReady, want: completed},
		"a deployment that is created with an id":    {observed: backend.Observation{}, want: at("A", "B", "C")},
		"nothing is known of what was last asked of": {last: at("A"), observed: backend.Observation{Exists: true}, want: at("A")},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := deployment(&v1beta1.Restart{ID: "1", Strategy: c.strategy}, c.last)
			if diff := cmp.Diff(c.want, restart.Next(deployment, c.observed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("without a restart nothing changes", func(t *testing.T) {
		if got := restart.Next(deployment(nil, completed), running); got != completed {
			t.Errorf("got %v", got)
		}
	})
}

var ready = v1beta1.ServiceReplicaStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1}

func deployment(wanted *v1beta1.Restart, last *v1beta1.RestartStatus) *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		Spec: v1beta1.DynamoGraphDeploymentSpec{
			Restart: wanted, Components: []v1beta1.ComponentSpec{{Name: "A"}, {Name: "B"}, {Name: "C"}},
		},
		Status: v1beta1.DynamoGraphDeploymentStatus{Restart: last},
	}
}
