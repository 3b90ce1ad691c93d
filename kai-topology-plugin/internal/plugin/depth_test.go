package plugin

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// callers are filters that note which functions lie between PreFilter and the engine whenever the engine asks them.
type callers struct {
	framework.Framework
	mu      sync.Mutex
	deepest []string
}

func (c *callers) RunFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) *fwk.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if between := betweenPreFilterAndEngine(); len(between) > len(c.deepest) {
		c.deepest = between
	}
	return c.Framework.RunFilterPlugins(ctx, state, pod, node)
}

// betweenPreFilterAndEngine returns the functions of the present stack that lie between them, the innermost first.
func betweenPreFilterAndEngine() (between []string) {
	counters := make([]uintptr, 1000)
	frames := runtime.CallersFrames(counters[:runtime.Callers(0, counters)])
	for decided := false; ; {
		frame, more := frames.Next()
		switch {
		case strings.HasSuffix(frame.Function, "plugin.(*Plugin).PreFilter"):
			return between
		case strings.HasSuffix(frame.Function, "packing.(*Cluster).Decide"):
			decided = true
		case decided:
			between = append(between, frame.Function)
		}
		if !more {
			return nil
		}
	}
}

// Whoever reads how a gang is decided goes through so many functions.
func TestSevenFunctionsLieBetweenPreFilterAndTheEngine(t *testing.T) {
	const most = 7
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	apart := func(pod *corev1.Pod) *corev1.Pod {
		pod.Labels = map[string]string{"app": "apart"}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: "rack",
			}},
		}}
		return pod
	}
	for name, pods := range map[string][]*corev1.Pod{
		"a gang":                       {newPod("alone", "a")},
		"a gang with rules":            {apart(newPod("alone", "a"))},
		"a gang that leads":            {newPod("base", "a"), newPod("follower", "f")},
		"a gang with rules that leads": {apart(newPod("base", "a")), newPod("follower", "f")},
	} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, nodes(3), pods, topology, podGroup("alone", 1), companion("base"), companion("follower"))
			filters := &callers{Framework: bench.Framework}
			bench.plugin.view = clusterview.New(filters)
			bench.plugin.reader.view = bench.plugin.view
			if node, status := bench.schedule(t, pods[0]); node == "" {
				t.Fatalf("it gets no node: %s", status.Message())
			}
			if len(filters.deepest) == 0 || len(filters.deepest) > most {
				slices.Reverse(filters.deepest)
				t.Errorf("%d functions: %s", len(filters.deepest), strings.Join(filters.deepest, ", "))
			}
		})
	}
}
