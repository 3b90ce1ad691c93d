package clusterview_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// world is kube-scheduler's own cache of nodes and pods, and its snapshot of them, changed in place as in a scheduler.
type world struct {
	cache    cache.Cache
	snapshot *cache.Snapshot
	filters  kubeframework.Filters
	view     *clusterview.View
	nodes    map[string]*corev1.Node
	pods     map[string]*corev1.Pod
	levels   []string
	made     int
}

func newWorld(ctx context.Context, t interface{ Fatal(...any) }) *world {
	metrics.Register()
	w := &world{
		cache: cache.New(ctx, nil, false), snapshot: cache.NewEmptySnapshot(),
		nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, levels: []string{"zone", "rack"},
	}
	filters, err := kubeframework.FiltersOver(ctx, w.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	w.filters, w.view = filters, clusterview.New(filters)
	return w
}

// draw changes one thing.
func (w *world) draw(t *rapid.T) {
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0, 1, 2:
		w.setNode(drawNode(t))
	case 3:
		w.removeNode(t)
	case 4, 5:
		w.addPod(t)
	case 6:
		w.removePod(t)
	case 7:
		w.levels = rapid.SampledFrom([][]string{{"zone", "rack"}, {"rack"}}).Draw(t, "levels")
	}
}

func drawNode(t *rapid.T) *corev1.Node {
	number := rapid.IntRange(0, 4).Draw(t, "node")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", number), Labels: map[string]string{
		"zone": "z", "rack": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack"), "disk": rapid.SampledFrom([]string{"", "ssd"}).Draw(t, "disk"),
	}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(rapid.Int64Range(1, 3).Draw(t, "cpu"), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("5"),
	}
	node.Spec.Unschedulable = rapid.IntRange(0, 5).Draw(t, "cordon") == 0
	if rapid.IntRange(0, 5).Draw(t, "taint") == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}

func (w *world) setNode(node *corev1.Node) {
	if before := w.nodes[node.Name]; before != nil {
		w.cache.UpdateNode(klog.Background(), before, node)
	} else {
		w.cache.AddNode(klog.Background(), node)
	}
	w.nodes[node.Name] = node
}

func (w *world) removeNode(t *rapid.T) {
	if len(w.nodes) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.nodes))).Draw(t, "removed")
	require.NoError(t, w.cache.RemoveNode(klog.Background(), w.nodes[name]))
	delete(w.nodes, name)
}

func (w *world) addPod(t *rapid.T) {
	w.made++
	pod := newPod(fmt.Sprint("old", w.made), rapid.SampledFrom([]func(*corev1.Pod){plain, onPort, repelling}).Draw(t, "kind"))
	pod.Spec.NodeName = fmt.Sprint("n", rapid.IntRange(0, 4).Draw(t, "on"))
	require.NoError(t, w.cache.AddPod(klog.Background(), pod))
	w.pods[pod.Name] = pod
}

func (w *world) removePod(t *rapid.T) {
	if len(w.pods) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.pods))).Draw(t, "removed")
	require.NoError(t, w.cache.RemovePod(klog.Background(), w.pods[name]))
	delete(w.pods, name)
}

func newPod(name string, kind func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "x"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	kind(pod)
	return testsupport.Stored(pod)[0]
}

func plain(*corev1.Pod) {}

func onPort(pod *corev1.Pod) {
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
}

func selecting(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} }

// repelling pods keep those like them off their rack.
func repelling(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, TopologyKey: "rack",
		}},
	}}
}

// asked is a gang of two pods in one rack.
func (w *world) asked(kind func(*corev1.Pod)) *gang.Gang {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang"}}
	podGroup.Spec.MinMember = ptr.To[int32](2)
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "topology", RequiredTopologyLevel: "rack"}
	assembled, _ := gang.Assemble(podGroup, []*corev1.Pod{newPod("a", kind), newPod("b", kind)}, func(string) (podgrouptree.Hierarchy, bool) { return hierarchy(w.levels...), true })
	return assembled
}

func (w *world) list(t interface{ Fatal(...any) }) []fwk.NodeInfo {
	if err := w.cache.UpdateSnapshot(klog.Background(), w.snapshot); err != nil {
		t.Fatal(err)
	}
	nodes, err := w.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// judge is what tests and properties have in common.
type judge interface {
	Context() context.Context
	Fatal(...any)
}

func (w *world) decide(t judge, view *clusterview.View, kind func(*corev1.Pod), reserved clusterview.Reserved) *solve.Answer {
	nodes := w.list(t)
	topology := &kai.Topology{}
	for _, level := range w.levels {
		topology.Spec.Levels = append(topology.Spec.Levels, kai.TopologyLevel{NodeLabel: level})
	}
	answer, err := solve.Solve(t.Context(), solve.Request{
		Gang: w.asked(kind), Topologies: map[string]*kai.Topology{"topology": topology}, View: view, Nodes: nodes, Reserved: reserved,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAViewAnswersAsOneMadeAnew(t *testing.T) {
	kinds := []func(*corev1.Pod){plain, selecting, onPort, repelling}
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := newWorld(ctx, t)
		answers := make([]*solve.Answer, len(kinds))
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			w.draw(t)
			if rapid.Bool().Draw(t, "more") {
				continue
			}
			var reserved clusterview.Reserved
			if rapid.Bool().Draw(t, "reserve") {
				reserved = clusterview.Reserved{fmt.Sprint("n", rapid.IntRange(0, 4).Draw(t, "reserved")): {newPod("promised", onPort)}}
			}
			for i, kind := range kinds {
				before := answers[i]
				holds := before != nil && w.view.Holds(before.Basis, w.list(t), reserved)
				anew := w.decide(t, clusterview.New(w.filters), kind, reserved)
				kept := w.decide(t, w.view, kind, reserved)
				require.Empty(t, cmp.Diff(anew, kept, cmpopts.IgnoreTypes(clusterview.Basis{})), "(-anew +kept)")
				if holds && before.Verdict != anew.Verdict && before.Verdict != "Placed" {
					t.Fatalf("it was to hold that the gang is %s, and it is %s", before.Verdict, anew.Verdict)
				}
				answers[i] = kept
			}
		}
	})
}

func TestNodesAreFoundByTheirHost(t *testing.T) {
	labels := func(host string) map[string]string { return map[string]string{corev1.LabelHostname: host} }
	view, now := clusterview.New(nil), func(hosts map[string]string) []fwk.NodeInfo {
		var nodes []*corev1.Node
		for name, host := range hosts {
			made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if host != "" {
				made.Labels = labels(host)
			}
			nodes = append(nodes, made)
		}
		cluster, err := kubeframework.NewOffline(t.Context(), nodes, nil)
		require.NoError(t, err)
		infos, err := cluster.Nodes()
		require.NoError(t, err)
		return infos
	}
	for _, step := range []struct{ hosts, want map[string]string }{
		{hosts: map[string]string{"a": "x", "b": "x", "c": ""}, want: map[string]string{"x": "[a b]", "y": "[]"}},
		{hosts: map[string]string{"a": "y", "b": "x", "c": "x"}, want: map[string]string{"x": "[b c]", "y": "[a]"}},
		{hosts: map[string]string{"a": "", "c": "x"}, want: map[string]string{"x": "[c]", "y": "[]"}},
	} {
		view.Follow(now(step.hosts))
		for host, want := range step.want {
			found := view.OnHost(host)
			slices.Sort(found)
			assert.Equal(t, want, fmt.Sprint(found), "with %v host %s", step.hosts, host)
		}
	}
}

// TestNodesStayAfterATrialThatMetTooMuch: a decision has one trial after the other, and the nodes are compared once.
func TestNodesStayAfterATrialThatMetTooMuch(t *testing.T) {
	cluster, err := kubeframework.NewOffline(t.Context(), []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, nil)
	require.NoError(t, err)
	nodes, err := cluster.Nodes()
	require.NoError(t, err)
	view, many := clusterview.New(nil), map[string][]string{}
	for i := range 100 {
		many[fmt.Sprint(i)] = []string{"rack"}
	}
	view.Follow(nodes)
	trial, err := view.Begin(many, nil)
	require.NoError(t, err)
	trial.End()
	_, found := view.Find("a")
	assert.True(t, found)
}

// hierarchy has levels of these keys and without aliases.
func hierarchy(keys ...string) podgrouptree.Hierarchy {
	levels := make(podgrouptree.Hierarchy, len(keys))
	for i, key := range keys {
		levels[i].Key = key
	}
	return levels
}
