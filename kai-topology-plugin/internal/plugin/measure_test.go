package plugin

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/shared/packing"
)

// However pods come, change and go, what is free is what the nodes offer less what the pods on them ask for now.
func TestPodsAreAccountedForOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m measure
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"rack": "r"}}}
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("100"), "pods": resource.MustParse("50")}
		pods := map[string]*corev1.Pod{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod")
			before := pods[name]
			after := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
			after.Spec.NodeName = rapid.SampledFrom([]string{"", "n", "other"}).Draw(t, "node")
			after.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				"cpu": *resource.NewQuantity(rapid.Int64Range(0, 9).Draw(t, "cpus"), resource.DecimalSI),
			}}}}
			if before != nil && rapid.Bool().Draw(t, "gone") {
				after = nil
			}
			m.podChanged(before, after)
			delete(pods, name)
			if after != nil {
				pods[name] = after
			}
			if rapid.Bool().Draw(t, "node seen") {
				m.nodeSeen(node)
			}
		}
		m.nodeSeen(node)
		want := 100.0
		for _, pod := range pods {
			if pod.Spec.NodeName == "n" {
				want -= pod.Spec.Containers[0].Resources.Requests.Cpu().AsApproximateFloat64()
			}
		}
		report := capacity.Report(map[string][]string{"t": {"rack"}}, m.tracker.Stock().Nodes,
			capacity.Bounds{PerLevel: 9, InAll: 9})
		if got := report[0].Domains[0].Resources[0].Free; got != want {
			t.Fatalf("%v CPUs are free, want %v", got, want)
		}
	})
}

func TestProfilesNameShapesTogether(t *testing.T) {
	var all profiles
	all.name([]capacity.Shape{{Name: "a", Pods: 1}, {Name: "b", Pods: 1}})
	all.name([]capacity.Shape{{Name: "b", Pods: 2}, {Name: "c", Pods: 1, Requests: packing.Resources{"cpu": 1}}})
	var names []string
	for _, shape := range all.now().shapes {
		names = append(names, shape.Name)
		if shape.Pods != 1 {
			t.Errorf("shape %s is the second of its name", shape.Name)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the shapes are %q", names)
	}
}
