package plugin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
)

func changed(changes ...func(*corev1.Node)) *corev1.Node {
	node := newNodes(1)[0]
	for _, change := range changes {
		change(node)
	}
	return node
}

func cordoned(node *corev1.Node) { node.Spec.Unschedulable = true }

func tainted(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}
}

func withCPU(amount string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(amount) }
}

func labelled(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[key] = value }
}

func TestWhichEventsWakeAGang(t *testing.T) {
	asker, sibling := newPod("gang", "asker"), newPod("gang", "sibling")
	for _, pod := range []*corev1.Pod{asker, sibling} {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	bench := newBench(t, newNodes(1), []*corev1.Pod{asker, sibling}, podGroup("gang", 2))
	_, status := bench.schedule(t, asker)
	require.Equal(t, fwk.Unschedulable, status.Code(), "the gang fits: %v", status)
	onNode := newPod("", "foreign")
	onNode.Spec.NodeName = "n0"
	promised := newPod("", "promised")
	promised.Status.NominatedNodeName = "n0"
	pod := func(before any) func(*corev1.Pod) (bool, error) {
		return func(waiting *corev1.Pod) (bool, error) {
			return bench.plugin.hints.podHelps(bench.waiting(waiting), before, nil)
		}
	}
	node := func(before, after any) func(*corev1.Pod) (bool, error) {
		return func(waiting *corev1.Pod) (bool, error) {
			return bench.plugin.hints.nodeHelps(bench.waiting(waiting), before, after)
		}
	}
	for name, test := range map[string]struct {
		event func(*corev1.Pod) (bool, error)
		wakes bool
	}{
		"a node comes":                           {node(nil, changed()), true},
		"a cordoned node comes":                  {node(nil, changed(cordoned)), false},
		"a node grows":                           {node(changed(), changed(withCPU("2"))), true},
		"a node shrinks":                         {node(changed(), changed(withCPU("500m"))), false},
		"a cordon is lifted":                     {node(changed(cordoned), changed()), true},
		"a node is cordoned":                     {node(changed(), changed(cordoned)), false},
		"a taint is taken away":                  {node(changed(tainted), changed()), true},
		"a node is tainted":                      {node(changed(), changed(tainted)), false},
		"a label changes that the pods read":     {node(changed(), changed(labelled("disk", "ssd"))), true},
		"a label goes that the pods read":        {node(changed(labelled("disk", "ssd")), changed()), true},
		"a label changes that nobody reads":      {node(changed(), changed(labelled("seen", "now"))), false},
		"a pod leaves a node":                    {pod(onNode), true},
		"a pod goes that had no node":            {pod(newPod("", "other")), false},
		"a pod goes that was promised a node":    {pod(promised), true},
		"a node goes":                            {node(changed(), nil), false},
		"the cache lost sight of what it was of": {node(nil, "lost"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if wakes, err := test.event(asker); err != nil || wakes != test.wakes {
				t.Errorf("the pod that asks: %v, %v", wakes, err)
			}
			if wakes, err := test.event(sibling); err != nil || wakes {
				t.Errorf("its sibling: %v, %v", wakes, err)
			}
		})
	}
}

// One pod has left a node with one CPU; what stays there leaves too little for a pod of the gang, or just enough.
func TestAPodThatLeavesWakesOnlyGangsThatFitThere(t *testing.T) {
	for stays, wakes := range map[string]bool{"100m": false, "0": true} {
		other, asker := newPod("", "other"), newPod("gang", "asker")
		other.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(stays)
		other.Spec.NodeName = "n0"
		asker.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		bench := newBench(t, newNodes(1), []*corev1.Pod{other, asker}, podGroup("gang", 1))
		bench.setNodes(t, newNodes(1))
		_, status := bench.schedule(t, asker)
		require.Equal(t, fwk.Unschedulable, status.Code(), "the gang fits: %v", status)
		gone := newPod("", "gone")
		gone.Spec.NodeName = "n0"
		for range 2 {
			if helps, err := bench.plugin.hints.podHelps(bench.waiting(asker), gone, nil); err != nil || helps != wakes {
				t.Errorf("%s stays: %v, %v", stays, helps, err)
			}
		}
	}
}

// The gang waits for a node with room for two pods, while things happen that do not help.
func TestAGangThatDoesNotFitIsLeftAloneUntilSomethingHelps(t *testing.T) {
	rig := startRig(t, 1, scheduler.WithPodInitialBackoffSeconds(0), scheduler.WithPodMaxBackoffSeconds(0))
	before := decisions(t)
	rig.makePodGroup(t, podGroup("gang", 2))
	for _, name := range []string{"a", "b"} {
		rig.create(t, newPod("gang", name))
	}
	awaiting(t, "the gang to be decided", func() bool { return decisions(t) == before+1 })

	node := newNodes(1)[0]
	node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	for i := range 50 {
		node.Labels["seen"] = fmt.Sprint(i)
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: fmt.Sprint(i)},
		}
		rig.update(t, node)
	}
	for i := range 20 {
		idle := newPod("", fmt.Sprint("idle-", i))
		idle.Spec.SchedulerName = "another"
		rig.create(t, idle)
		require.NoError(t, rig.kube.CoreV1().Pods("default").Delete(t.Context(), idle.Name, metav1.DeleteOptions{}))
	}
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2")
	rig.update(t, node)
	rig.eventuallyAllBound(t, 2)
	if made := decisions(t) - before; made != 2 {
		t.Errorf("%v decisions were made, not one before and one after the node grew", made)
	}
}

func (r *rig) create(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	_, err := r.kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (r *rig) update(t *testing.T, node *corev1.Node) {
	t.Helper()
	_, err := r.kube.CoreV1().Nodes().Update(t.Context(), node.DeepCopy(), metav1.UpdateOptions{})
	require.NoError(t, err)
}

// decisions returns how many decisions were made so far in this process.
func decisions(t *testing.T) (sum float64) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "packtree_scheduler_decisions_total" {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func awaiting(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) { return holds(), nil })
	require.NoError(t, err, "waiting for %s", what)
}
