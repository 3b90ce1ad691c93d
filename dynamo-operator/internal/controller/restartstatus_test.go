package controller_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/status"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func TestNextRestart(t *testing.T) {
	running := backend.Observation{Exists: true, Current: true, Settled: true,
		Wanted:   map[string]int32{"A": 1, "B": 1, "C": 1},
		Services: map[string]v1beta1.ServiceReplicaStatus{"A": ready, "B": ready, "C": ready}}
	unseen := running
	unseen.Current = false
	replacing := running
	replacing.Settled = false
	unwritten := running
	unwritten.Restarted = map[string]string{"A": "0"}
	further := replacing
	further.Restarted = map[string]string{"A": "1", "B": "1"}
	begun := replacing
	begun.Restarted = map[string]string{"A": "1", "B": "0", "C": "0"}
	halfReady := running
	halfReady.Services = map[string]v1beta1.ServiceReplicaStatus{"A": {Replicas: 1}, "B": ready, "C": ready}

	// In another order than the one in which the restart began.
	reordered := &v1beta1.RestartStrategy{Order: []string{"C", "A", "B"}}
	parallel := &v1beta1.RestartStrategy{Type: v1beta1.RestartStrategyParallel}
	ordered := &v1beta1.RestartStrategy{Order: []string{"C", "A", "B"}}
	at := func(restarted ...string) *v1beta1.RestartStatus {
		return &v1beta1.RestartStatus{ObservedID: "1", Phase: v1beta1.RestartPhaseRestarting, Restarted: restarted}
	}
	completed := &v1beta1.RestartStatus{ObservedID: "1", Phase: v1beta1.RestartPhaseCompleted,
		Restarted: []string{"A", "B", "C"}}
	old := &v1beta1.RestartStatus{ObservedID: "0", Phase: v1beta1.RestartPhaseCompleted,
		Restarted: []string{"A", "B", "C"}}
	for name, c := range map[string]struct {
		strategy *v1beta1.RestartStrategy
		last     *v1beta1.RestartStatus
		observed backend.Observation
		want     *v1beta1.RestartStatus
	}{
		"the first component":                         {observed: running, want: at("A")},
		"in the order that was asked for":             {strategy: ordered, observed: running, want: at("C")},
		"a new id begins again":                       {last: old, observed: running, want: at("A")},
		"not before the last one is back":             {last: at("A"), observed: replacing, want: at("A")},
		"nor where what is known of it is older":      {last: at("A"), observed: unseen, want: at("A")},
		"nor while it is not ready":                   {last: at("A"), observed: halfReady, want: at("A")},
		"the next component":                          {last: at("A"), observed: running, want: at("A", "B")},
		"the framework does not know of the last yet": {last: at("A"), observed: unwritten, want: at("A")},
		"a step that was not noted":                   {last: at("A"), observed: further, want: at("A", "B")},
		"nor was the first":                           {last: old, observed: begun, want: at("A")},
		"nor the first of all":                        {observed: begun, want: at("A")},
		"another order half-way leaves nobody out": {strategy: reordered, last: at("A"), observed: running,
			want: at("A", "C")},
		"nor does it begin anybody twice": {strategy: reordered, last: at("B", "C"), observed: running,
			want: at("B", "C", "A")},
		"all that are left at once": {strategy: parallel, last: at("A"), observed: running,
			want: at("A", "B", "C")},
		"all at once":                             {strategy: parallel, observed: running, want: at("A", "B", "C")},
		"complete when the last one is back":      {last: at("A", "B", "C"), observed: running, want: completed},
		"an id that was seen starts nothing":      {last: completed, observed: halfReady, want: completed},
		"a deployment that is created with an id": {observed: backend.Observation{}, want: at("A", "B", "C")},
		"nothing is known of what was last asked of": {last: at("A"), observed: backend.Observation{Exists: true},
			want: at("A")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.observed.Restarted == nil && c.last != nil {
				c.observed.Restarted = bearing(c.last)
			}
			statusDeployment := restarted(&v1beta1.Restart{ID: "1", Strategy: c.strategy}, c.last)
			assert.Empty(t, cmp.Diff(c.want, status.NextRestart(statusDeployment, c.observed)), "(-want +got)")
		})
	}
	for name, c := range map[string]struct {
		last     *v1beta1.RestartStatus
		observed backend.Observation
		want     *v1beta1.RestartStatus
	}{
		"none was ever asked for":                {observed: running},
		"one that is over stays so":              {last: completed, observed: halfReady, want: completed},
		"one that is taken back goes no further": {last: at("A"), observed: replacing, want: at("A")},
		"and is over when what it has begun is ready": {last: at("A"), observed: running,
			want: &v1beta1.RestartStatus{ObservedID: "1", Phase: v1beta1.RestartPhaseCompleted,
				Restarted: []string{"A"}}},
	} {
		t.Run("without a restart in the spec, "+name, func(t *testing.T) {
			if c.last != nil {
				c.observed.Restarted = bearing(c.last)
			}
			assert.Empty(t, cmp.Diff(c.want, status.NextRestart(restarted(nil, c.last), c.observed)), "(-want +got)")
		})
	}
}

// bearing is the id that each restarted component bears.
func bearing(last *v1beta1.RestartStatus) map[string]string {
	ids := map[string]string{}
	for _, component := range last.Restarted {
		ids[component] = last.ObservedID
	}
	return ids
}

var ready = v1beta1.ServiceReplicaStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1}

func restarted(wanted *v1beta1.Restart, last *v1beta1.RestartStatus) *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		Spec: v1beta1.DynamoGraphDeploymentSpec{
			Restart: wanted, Components: []v1beta1.ComponentSpec{{Name: "A"}, {Name: "B"}, {Name: "C"}},
		},
		Status: v1beta1.DynamoGraphDeploymentStatus{Restart: last},
	}
}
