package endure

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// World is what the API has at one moment. All rules judge it alone.
type World struct {
	Pods   []corev1.Pod
	Nodes  []corev1.Node
	Groups []scheduling.PodGroup
	// Objects are those of the other kinds. Only a world at rest has them.
	Objects    []unstructured.Unstructured
	Topologies placement.Topologies
	// Bound is when a pod was first seen on its node. Moved is when the node of a name was last away, or changed
	// its labels, and Labels what they are.
	Bound  map[types.UID]time.Time
	Moved  map[string]time.Time
	Labels map[string]string
}

// made are the other kinds, those of users first.
var made = []schema.GroupVersionKind{
	{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeployment"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueSet"},
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodClique"},
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueScalingGroup"},
	{Group: "scheduler.grove.io", Version: "v1alpha1", Kind: "PodGang"},
	{Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// ours is the label of the campaign's namespaces and nodes.
const ours = "endure.packtree.dev/campaign"

// read lists the world once, after the last one.
func read(ctx context.Context, c *live.Cluster, last *World, all bool) (*World, error) {
	w := &World{}
	var pods corev1.PodList
	var nodes corev1.NodeList
	var groups scheduling.PodGroupList
	for _, list := range []client.ObjectList{&pods, &nodes, &groups} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	w.Pods, w.Nodes, w.Groups = pods.Items, nodes.Items, groups.Items
	w.seen(last, time.Now())
	var err error
	if w.Topologies, err = c.Topologies(ctx); err != nil || !all {
		return w, err
	}
	for _, kind := range made {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			if strings.HasPrefix(object.GetNamespace(), namespacePrefix) && object.GetName() != "default" {
				w.Objects = append(w.Objects, object)
			}
		}
	}
	return w, nil
}

// seen fills in what a world remembers of the last ones. Nodes that the first one has are old.
func (w *World) seen(last *World, now time.Time) {
	w.Bound, w.Moved, w.Labels = map[types.UID]time.Time{}, map[string]time.Time{}, map[string]string{}
	if last != nil {
		maps.Copy(w.Moved, last.Moved)
		maps.Copy(w.Labels, last.Labels)
	}
	present := map[string]bool{}
	for i := range w.Nodes {
		node := &w.Nodes[i]
		labels := fmt.Sprint(node.Labels)
		if was, known := w.Labels[node.Name]; known && was != labels {
			w.Moved[node.Name] = now
		}
		w.Labels[node.Name] = labels
		present[node.Name] = true
	}
	for name := range w.Labels {
		if !present[name] {
			w.Moved[name] = now
		}
	}
	for i := range w.Pods {
		if pod := &w.Pods[i]; pod.Spec.NodeName != "" {
			w.Bound[pod.UID] = now
			if last != nil && !last.Bound[pod.UID].IsZero() {
				w.Bound[pod.UID] = last.Bound[pod.UID]
			}
		}
	}
}

// each calls with every object.
func (w *World) each(call func(kind string, object client.Object)) {
	for i := range w.Pods {
		call("Pod", &w.Pods[i])
	}
	for i := range w.Groups {
		call("PodGroup", &w.Groups[i])
	}
	for i := range w.Objects {
		call(w.Objects[i].GetKind(), &w.Objects[i])
	}
}

func name(object client.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// counts reports whether a pod takes room on a node, and is to stay there.
func counts(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// gang is the placement of a PodGroup's pods.
type gang struct {
	group *scheduling.PodGroup
	pods  []corev1.Pod
	// bound is how many pods of each leaf have a node, and present how many have no gate.
	bound, present map[string]int
}

func (w *World) gangs() []gang {
	members := map[string][]corev1.Pod{}
	for i := range w.Pods {
		pod := &w.Pods[i]
		if of := pod.Annotations[scheduling.AnnotationPodGroupName]; of != "" && counts(pod) {
			members[pod.Namespace+"/"+of] = append(members[pod.Namespace+"/"+of], *pod)
		}
	}
	var gangs []gang
	for i := range w.Groups {
		g := gang{group: &w.Groups[i], pods: members[name(&w.Groups[i])], bound: map[string]int{},
			present: map[string]int{}}
		for j := range g.pods {
			if len(g.pods[j].Spec.SchedulingGates) == 0 {
				g.present[g.pods[j].Labels[subGroupLabel]]++
			}
			if g.pods[j].Spec.NodeName != "" {
				g.bound[g.pods[j].Labels[subGroupLabel]]++
			}
		}
		gangs = append(gangs, g)
	}
	return gangs
}

// subGroupLabel is the label by which a pod names its leaf.
const subGroupLabel = "kai.scheduler/subgroup-name"

func total(counts map[string]int) (sum int) {
	for _, count := range counts {
		sum += count
	}
	return sum
}

// whole reports whether each leaf has its minimum of bound pods.
func (g gang) whole() bool { return g.reached(g.bound) }

// reached reports whether each leaf has its minimum.
func (g gang) reached(counts map[string]int) bool {
	if len(g.group.Spec.SubGroups) == 0 {
		return g.group.Spec.MinMember == nil || total(counts) >= int(*g.group.Spec.MinMember)
	}
	parents := map[string]bool{}
	for _, subGroup := range g.group.Spec.SubGroups {
		if subGroup.Parent != nil {
			parents[*subGroup.Parent] = true
		}
	}
	for _, subGroup := range g.group.Spec.SubGroups {
		if subGroup.MinMember != nil && !parents[subGroup.Name] && counts[subGroup.Name] < int(*subGroup.MinMember) {
			return false
		}
	}
	return true
}

// says is the PodGroup's condition of its gang.
func (g gang) says() metav1.Condition {
	if condition := meta.FindStatusCondition(g.group.Status.Conditions, scheduling.ConditionScheduled); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func (g gang) String() string {
	return fmt.Sprintf("PodGroup %s: %v of %d pods bound, it says %s: %s", name(g.group), g.bound, len(g.pods),
		g.says().Reason, g.says().Message)
}
