package plugin

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// takeAll has as many pods before the API server as may be there.
func takeAll(t *testing.T, p *Plugin) []fwk.CycleState {
	t.Helper()
	states := make([]fwk.CycleState, bindingsInFlight)
	for i := range states {
		states[i] = framework.NewCycleState()
		status := p.PreBind(t.Context(), states[i], &corev1.Pod{}, "node")
		require.True(t, status.IsSuccess(), "binding %d of %d does not start: %v", i+1, len(states), status)
	}
	return states
}

// starts reports whether one more binding may start now.
func starts(p *Plugin) bool {
	ended, end := context.WithCancel(context.Background())
	end()
	for range 100 { // With both a place and the end of the context, either may be chosen.
		state := framework.NewCycleState()
		if p.PreBind(ended, state, &corev1.Pod{}, "node").IsSuccess() {
			endBinding(state)
			return true
		}
	}
	return false
}

func TestBindingsUnderWayAreBounded(t *testing.T) {
	for name, end := range map[string]func(*Plugin, fwk.CycleState){
		"until one has succeeded": func(p *Plugin, state fwk.CycleState) {
			p.PostBind(t.Context(), state, &corev1.Pod{}, "node")
		},
		"until one has failed": func(p *Plugin, state fwk.CycleState) {
			p.Unreserve(t.Context(), state, &corev1.Pod{}, "node")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newBench(t, nil, nil).plugin
			states := takeAll(t, p)
			require.False(t, starts(p), "more than %d bindings are under way", bindingsInFlight)
			end(p, states[0])
			assert.True(t, starts(p), "no other binding may start")
		})
	}
}

func TestBindingThatEndsTwiceMakesRoomOnce(t *testing.T) {
	p := newBench(t, nil, nil).plugin
	states := takeAll(t, p)
	p.Unreserve(t.Context(), states[0], &corev1.Pod{}, "node")
	p.Unreserve(t.Context(), states[0], &corev1.Pod{}, "node")
	assert.Len(t, p.bindings, bindingsInFlight-1, "bindings are under way")
}

func TestPodThatNeverCameToBindingMakesNoRoom(t *testing.T) {
	p := newBench(t, nil, nil).plugin
	takeAll(t, p)
	p.Unreserve(t.Context(), framework.NewCycleState(), &corev1.Pod{}, "node")
	assert.Len(t, p.bindings, bindingsInFlight, "bindings are under way")
}
