package clusterview_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

func cordoned(node *corev1.Node) { node.Spec.Unschedulable = true }

func tainted(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
}

func resized(cpu string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu) }
}

func labelled(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[key] = value }
}

func smallNode(name string, changes ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "z", "rack": "r"}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("5"),
	}
	for _, change := range changes {
		change(node)
	}
	return node
}

// A gang of two has no place on one node with room for one pod and two that are closed.
func TestAnAnswerHoldsUntilSomethingCouldHelp(t *testing.T) {
	set := func(node *corev1.Node) func(*world) { return func(w *world) { w.setNode(node) } }
	for name, test := range map[string]struct {
		kind     func(*corev1.Pod)
		reserved clusterview.Reserved
		happens  func(*world)
		holds    bool
	}{
		"nothing happens":                         {kind: plain, happens: func(*world) {}, holds: true},
		"a node tells that it is alive":           {kind: plain, happens: set(smallNode("open")), holds: true},
		"a node shrinks":                          {kind: plain, happens: set(smallNode("open", resized("500m"))), holds: true},
		"a node gets a taint":                     {kind: plain, happens: set(smallNode("open", tainted)), holds: true},
		"a label changes that nobody reads":       {kind: plain, happens: set(smallNode("open", labelled("seen", "now"))), holds: true},
		"another pod comes":                       {kind: plain, happens: func(w *world) { w.stand("another", "open") }, holds: true},
		"more room is reserved for others":        {kind: plain, reserved: clusterview.Reserved{"open": {newPod("promised", plain)}}, happens: func(*world) {}, holds: true},
		"a node comes":                            {kind: plain, happens: set(smallNode("new"))},
		"a node grows":                            {kind: plain, happens: set(smallNode("open", resized("2")))},
		"a cordon is lifted":                      {kind: plain, happens: set(smallNode("cordoned"))},
		"a taint is taken away":                   {kind: plain, happens: set(smallNode("tainted"))},
		"a node moves to another domain":          {kind: plain, happens: set(smallNode("open", labelled("rack", "r2")))},
		"a label changes that the pods select by": {kind: selecting, happens: set(smallNode("open", labelled("disk", "ssd")))},
		"a pod goes":                              {kind: plain, happens: func(w *world) { w.leave("standing") }},
		"anything, to pods that look at others":   {kind: repelling, happens: func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t.Context(), t)
			for _, node := range []*corev1.Node{smallNode("open"), smallNode("cordoned", cordoned), smallNode("tainted", tainted), smallNode("full")} {
				w.setNode(node)
			}
			w.stand("standing", "full")
			answer := w.decide(t, w.view, test.kind, nil)
			require.Equal(t, "Infeasible", answer.Verdict, "the gang")
			test.happens(w)
			assert.Equal(t, test.holds, w.view.Holds(answer.Basis, w.list(t), test.reserved), "the answer holds")
		})
	}
}

func TestAnAnswerDoesNotHoldOnceReservedRoomIsGivenBack(t *testing.T) {
	w := newWorld(t.Context(), t)
	w.setNode(smallNode("open", resized("2")))
	reserved := clusterview.Reserved{"open": {newPod("promised", plain)}}
	answer := w.decide(t, w.view, plain, reserved)
	assert.True(t, w.view.Holds(answer.Basis, w.list(t), reserved), "the answer does not hold while the room is reserved")
	assert.False(t, w.view.Holds(answer.Basis, w.list(t), nil), "the answer holds although the room is given back")
}

func (w *world) stand(name, node string) {
	pod := newPod(name, plain)
	pod.Spec.NodeName = node
	w.pods[name] = pod
	if err := w.cache.AddPod(klog.Background(), pod); err != nil {
		panic(err)
	}
}

func (w *world) leave(name string) {
	if err := w.cache.RemovePod(klog.Background(), w.pods[name]); err != nil {
		panic(err)
	}
}

// What is tried aside is no change: a pod that is taken off its node, a decision without it, and the pod put back.
func TestAnAnswerHoldsWhateverIsTriedAside(t *testing.T) {
	w := newWorld(t.Context(), t)
	w.setNode(smallNode("open"))
	w.stand("standing", "open")
	answer := w.decide(t, w.view, plain, nil)
	nodes := w.list(t)
	err := w.view.Aside(nodes, func() error {
		return kubeframework.Without(w.snapshot.NodeInfos(), []*corev1.Pod{w.pods["standing"]}, func() error {
			assert.False(t, w.view.Holds(answer.Basis, nodes, nil), "the answer holds while the pod is away")
			return nil
		})
	})
	require.NoError(t, err)
	assert.True(t, w.view.Holds(answer.Basis, nodes, nil), "the answer does not hold although everything is as it was")
	w.leave("standing")
	assert.False(t, w.view.Holds(answer.Basis, w.list(t), nil), "the answer holds although the pod has gone")
}
