// Package related has random clusters of related gangs for tests that compare what several programs ask about them.
package related

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Cluster returns three gangs that share a rack, each with some of its pods on nodes, waiting, gated, or yet to be
// made. Some gangs have lost pods, and some of these are to be stopped.
func Cluster(seed uint64) *inventory.Inventory {
	random := rand.New(rand.NewPCG(seed, 0))
	cluster := inventory.New()
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	cluster.Topologies["t"] = topology
	for i, name := range []string{"base", "left", "right"} {
		cluster.PodGroups = append(cluster.PodGroups, podGroup(random, name))
		for j := range 2 {
			cluster.Nodes = append(cluster.Nodes, node(fmt.Sprintf("n%d", 2*i+j)))
		}
		for j := range random.IntN(3) {
			pod := pod(name, fmt.Sprintf("%s-%d", name, j))
			switch random.IntN(4) {
			case 0:
				pod.Spec.NodeName = fmt.Sprintf("n%d", 2*i+j)
			case 1:
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
			}
			cluster.Pods = append(cluster.Pods, pod)
		}
	}
	return cluster
}

func podGroup(random *rand.Rand, name string) *scheduling.PodGroup {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: name, CreationTimestamp: metav1.Unix(1, 0),
		Annotations: map[string]string{
			scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t",
			scheduling.AnnotationSharedRequired: "rack",
		},
	}}
	podGroup.Spec.MinMember = ptr.To(1 + random.Int32N(2))
	if random.IntN(2) == 0 {
		podGroup.Annotations[scheduling.AnnotationRelations] =
			`[{"name":"apart","topology":"t","level":"rack","gangs":"all","maxPerDomain":2}]`
	}
	if random.IntN(2) == 0 {
		podGroup.Status.Conditions = []metav1.Condition{{
			Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse, Reason: scheduling.ReasonBelowMinimum,
			LastTransitionTime: metav1.Unix(2, 0),
		}}
	}
	if random.IntN(3) == 0 {
		podGroup.Spec.StalenessGracePeriod = &metav1.Duration{}
	}
	return podGroup
}

func node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": "r"}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("10"),
	}
	return node
}

func pod(of, name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name),
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: of},
	}}
	pod.Spec.SchedulerName = kai.SchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	return pod
}

// Asked is what is asked about a gang, in a form that compares requests whatever the cluster is made of.
func Asked(request *solve.Request) map[string]any {
	found := map[string]any{
		"gang": asked(request.Gang), "overdue": len(request.Overdue), "note": request.Note,
		"mends": request.Mends, "lacks": request.Lacks,
	}
	for _, follower := range request.Followers {
		found["follower "+follower.Key().String()] = asked(follower)
	}
	for node, pods := range request.Reserved {
		found["reserved on "+node] = names(pods)
	}
	for _, name := range request.Gang.Topologies() {
		found["topology "+name] = request.Topologies[name] != nil
	}
	nodes := []string{}
	for _, node := range request.Nodes {
		nodes = append(nodes, node.Node().Name)
	}
	slices.Sort(nodes)
	found["nodes"] = nodes
	return found
}

func asked(g *gang.Gang) map[string]any {
	found := map[string]any{"pending": names(g.Pending), "standing": names(g.Standing), "shared": g.Shared}
	for i := range g.Relations {
		found["relation "+g.Relations[i].Name] = g.Relations[i]
	}
	return found
}

func names(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name+" on "+pod.Spec.NodeName)
	}
	slices.Sort(names)
	return names
}
