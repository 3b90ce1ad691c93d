package preemption_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

func TestSentences(t *testing.T) {
	gangs := func(names ...string) (victims []preemption.Preempted) {
		for _, name := range names {
			victims = append(victims, preemption.Preempted{Gang: gang.Key{Namespace: "ns", Name: name}})
		}
		return victims
	}
	for want, choice := range map[string]preemption.Choice{
		"room is becoming free: waiting for 1 pod to terminate": {Awaited: []*corev1.Pod{nil}},
		"room is being made in rack r1: waiting for 2 pods of ns/a, 1 pod of ns/b, 2 pods without a gang to terminate": {
			Where: "rack r1", Victims: append(gangs("b", "a", "a"), preemption.Preempted{}, preemption.Preempted{})},
		"room is being made: waiting for 1 pod of ns/a, 1 pod of ns/b, 1 pod of ns/c, pods of 2 more gangs to terminate": {
			Victims: gangs("e", "d", "c", "b", "a")},
	} {
		got := choice.String()
		assert.Equal(t, want, got, "got  %s\nwant %s", got, want)
	}
}
