package clusterview_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

func TestWhatIsSeenOfNodes(t *testing.T) {
	node := func(name string) *corev1.Node {
		made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": "r1"}}}
		made.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("9")}
		return made
	}
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		made.Spec.NodeName = "a"
		made.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}
		change(made)
		return made
	}
	plain := func(*corev1.Pod) {}
	apart := func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "rack", LabelSelector: &metav1.LabelSelector{}}},
		}}
	}
	first := func() (nodes []*corev1.Node, pods []*corev1.Pod) {
		return []*corev1.Node{node("a"), node("b")}, []*corev1.Pod{pod("p", plain), pod("q", apart)}
	}
	for name, test := range map[string]struct {
		change   func(nodes *[]*corev1.Node, pods *[]*corev1.Pod)
		want     []string
		repelled bool
	}{
		"nothing": {change: func(*[]*corev1.Node, *[]*corev1.Pod) {}},
		"an annotation of a node": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) {
			(*nodes)[0].Annotations = map[string]string{"seen": "now"}
		}},
		"the status of a pod": {change: func(_ *[]*corev1.Node, pods *[]*corev1.Pod) { (*pods)[0].Status.Message = "ready" }},
		"a label": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) {
			(*nodes)[0].Labels = map[string]string{"rack": "r2"}
		}, want: []string{"a r1>r2"}},
		"a cordon": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) { (*nodes)[1].Spec.Unschedulable = true }, want: []string{"b r1>r1"}},
		"a taint": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) {
			(*nodes)[1].Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}, want: []string{"b r1>r1"}},
		"what a node offers": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) {
			(*nodes)[1].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("5")
		}, want: []string{"b r1>r1"}},
		"a node that comes": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) { *nodes = append(*nodes, node("c")) }, want: []string{"c ->r1"}},
		"a node that goes":  {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) { *nodes = (*nodes)[:1] }, want: []string{"b r1>-"}},
		"the node of a pod that keeps others away goes": {change: func(nodes *[]*corev1.Node, _ *[]*corev1.Pod) {
			*nodes = (*nodes)[1:]
		}, want: []string{"a r1>-"}, repelled: true},
		"a pod that comes": {change: func(_ *[]*corev1.Node, pods *[]*corev1.Pod) { *pods = append(*pods, pod("r", plain)) }, want: []string{"a r1>r1"}},
		"a pod that goes":  {change: func(_ *[]*corev1.Node, pods *[]*corev1.Pod) { *pods = (*pods)[1:] }, want: []string{"a r1>r1"}},
		"a pod in place of one that is alike": {change: func(_ *[]*corev1.Node, pods *[]*corev1.Pod) {
			(*pods)[0] = pod("r", plain)
		}},
		"a pod that keeps others away, in place of one that does": {change: func(_ *[]*corev1.Node, pods *[]*corev1.Pod) {
			(*pods)[1] = pod("r", apart)
		}, repelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			following, err := kubeframework.NewFollowing(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var observer clusterview.Observer
			look := func(nodes []*corev1.Node, pods []*corev1.Pod) (words []string, repelled bool) {
				if err := following.Follow(nodes, pods); err != nil {
					t.Fatal(err)
				}
				infos, err := following.Nodes()
				if err != nil {
					t.Fatal(err)
				}
				changed, repelled := observer.Look(infos)
				rack := func(labels map[string]string) string {
					if labels == nil {
						return "-"
					}
					return labels["rack"]
				}
				for _, node := range changed {
					words = append(words, node.Name+" "+rack(node.Before)+">"+rack(node.Now))
				}
				return words, repelled
			}
			nodes, pods := first()
			if found, repelled := look(nodes, pods); len(found) != 2 || !repelled {
				t.Errorf("at first it sees %v, %v", found, repelled)
			}
			if free := observer.Free("a"); free[string(corev1.ResourceCPU)] != 2000 || free[kubeframework.ResourcePods] != 7 {
				t.Errorf("free on a: %v", free)
			}
			for i := range nodes {
				nodes[i] = nodes[i].DeepCopy()
			}
			for i := range pods {
				pods[i] = pods[i].DeepCopy()
			}
			test.change(&nodes, &pods)
			if found, repelled := look(nodes, pods); !slices.Equal(found, test.want) || repelled != test.repelled {
				t.Errorf("it sees %v, %v, want %v, %v", found, repelled, test.want, test.repelled)
			}
			if found, repelled := look(nodes, pods); len(found) > 0 || repelled {
				t.Errorf("a second time it sees %v, %v", found, repelled)
			}
		})
	}
}
