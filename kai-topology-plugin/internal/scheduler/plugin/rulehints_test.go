package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
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
	if _, status := bench.schedule(t, asker); status.Code() != fwk.Unschedulable {
		t.Fatalf("the gang fits: %v", status)
	}
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
	plugin := bench.plugin
	for name, test := range map[string]struct {
		hint          fwk.QueueingHintFn
		before, after any
		want          fwk.QueueingHint
	}{
		"a neighbour that the rules speak of": {plugin.hints.neighbourHelps, nil, neighbour("db", "n0"), fwk.Queue},
		"another neighbour": {plugin.hints.neighbourHelps, nil, neighbour("web", "n0"),
			fwk.QueueSkip},
		"a neighbour without a node": {plugin.hints.neighbourHelps, nil, neighbour("db", ""), fwk.QueueSkip},
		"a device claim of its own": {plugin.hints.deviceClaimHelps, claim("own", false), claim("own", true),
			fwk.Queue},
		"a device claim that others begin to use": {plugin.hints.deviceClaimHelps, claim("other", false),
			claim("other", true), fwk.QueueSkip},
		"a device claim that gives its device back": {plugin.hints.deviceClaimHelps, claim("other", true),
			claim("other", false), fwk.Queue},
		"a deleted device claim": {plugin.hints.deviceClaimHelps, claim("other", true), nil, fwk.Queue},
		"new devices":            {plugin.hints.suppliesHelp, nil, &resourcev1.ResourceSlice{}, fwk.Queue},
	} {
		t.Run(name, func(t *testing.T) {
			for pod, want := range map[*corev1.Pod]fwk.QueueingHint{asker: test.want, sibling: fwk.QueueSkip} {
				got, err := test.hint(klog.Background(), pod, test.before, test.after)
				if err != nil || got != want {
					t.Errorf("pod %s: %v, want %v: %v", pod.Name, got, want, err)
				}
			}
		})
	}
}
