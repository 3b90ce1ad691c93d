package plugin

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// The pod that asks for its gang is woken for all of it: here the rules are its sibling's.
func TestWhichNeighboursAndSuppliesWakeAGang(t *testing.T) {
	asker, sibling := newPod("gang", "asker"), newPod("gang", "sibling")
	sibling.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, TopologyKey: "rack",
		}},
	}}
	sibling.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: ptr.To("own")}}
	bench := newBench(t, newNodes(2), []*corev1.Pod{asker, sibling}, podGroup("gang", 2))
	_, status := bench.schedule(t, asker)
	require.Equal(t, fwk.Unschedulable, status.Code(), "the gang fits: %v", status)
	neighbour := func(app, node string) *corev1.Pod {
		pod := newPod("", app)
		pod.Labels, pod.Spec.NodeName = map[string]string{"app": app}, node
		return pod
	}
	claim := func(name string, allocated bool) *resourcev1.ResourceClaim {
		made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if allocated {
			made.Status.Allocation = &resourcev1.AllocationResult{}
		}
		return made
	}
	hints := bench.plugin.hints
	for name, test := range map[string]struct {
		helps         helps
		before, after any
		want          bool
	}{
		"a neighbour that the rules speak of": {hints.neighbourHelps, nil, neighbour("db", "n0"), true},
		"another neighbour":                   {hints.neighbourHelps, nil, neighbour("web", "n0"), false},
		"a neighbour without a node":          {hints.neighbourHelps, nil, neighbour("db", ""), false},
		"a device claim of its own":           {hints.deviceClaimHelps, claim("own", false), claim("own", true), true},
		"a device claim that others begin to use": {
			hints.deviceClaimHelps, claim("other", false), claim("other", true), false,
		},
		"a device claim that gives its device back": {
			hints.deviceClaimHelps, claim("other", true), claim("other", false), true,
		},
		"a deleted device claim": {hints.deviceClaimHelps, claim("other", true), nil, true},
		"new devices":            {hints.suppliesHelp, nil, &resourcev1.ResourceSlice{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for pod, want := range map[*corev1.Pod]bool{asker: test.want, sibling: false} {
				if got, err := test.helps(bench.waiting(pod), test.before, test.after); err != nil || got != want {
					t.Errorf("pod %s: %v, want %v: %v", pod.Name, got, want, err)
				}
			}
		})
	}
}
