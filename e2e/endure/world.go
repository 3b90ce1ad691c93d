package endure

import (
	"context"
	"fmt"
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
	// Bound is when a pod was first seen on its node, and Moved when a node last came, or changed its labels.
	Bound, Moved map[types.UID]time.Time
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

// read lists the world once. The Bound and Moved of it are those of the last world, brought up to date.
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

// seen fills in Bound and Moved.
func (w *World) seen(last *World, now time.Time) {
	w.Bound, w.Moved = map[types.UID]time.Time{}, map[types.UID]time.Time{}
	labels := map[types.UID]string{}
	if last != nil {
		for i := range last.Nodes {
			labels[last.Nodes[i].UID] = fmt.Sprint(last.Nodes[i].Labels)
		}
	}
	for i := range w.Nodes {
		node := &w.Nodes[i]
		w.Moved[node.UID] = now
		if labels[node.UID] == fmt.Sprint(node.Labels) {
			w.Moved[node.UID] = last.Moved[node.UID]
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
	// bound is how many pods of each leaf have a node.
	bound map[string]int
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
		g := gang{group: &w.Groups[i], pods: members[name(&w.Groups[i])], bound: map[string]int{}}
		for j := range g.pods {
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

func (g gang) total() (sum int) {
	for _, bound := range g.bound {
		sum += bound
	}
	return sum
}

// whole reports whether each leaf has its minimum.
func (g gang) whole() bool {
	if len(g.group.Spec.SubGroups) == 0 {
		return g.group.Spec.MinMember == nil || g.total() >= int(*g.group.Spec.MinMember)
	}
	parents := map[string]bool{}
	for _, subGroup := range g.group.Spec.SubGroups {
		if subGroup.Parent != nil {
			parents[*subGroup.Parent] = true
		}
	}
	for _, subGroup := range g.group.Spec.SubGroups {
		if subGroup.MinMember != nil && !parents[subGroup.Name] && g.bound[subGroup.Name] < int(*subGroup.MinMember) {
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
