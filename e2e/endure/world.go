package endure

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// World is what the API has at one moment. All rules judge it alone.
type World struct {
	live.Standing
	Groups []scheduling.PodGroup
	// Objects are those of the other kinds. Only a world at rest has them.
	Objects    []unstructured.Unstructured
	Topologies placement.Topologies
	// Bound is when a pod was first seen on its node. Moved is when the node of a name last changed its
	// labels, and Labels what they are.
	Bound  map[types.UID]time.Time
	Moved  map[string]time.Time
	Labels map[string]string
}

// others are further kinds of objects, beside the ones that are made for a PodCliqueSet.
var others = []schema.GroupVersionKind{
	{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeployment"},
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueSet"}, {Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Version: "v1", Kind: "Secret"},
}

// ours is the label of the campaign's namespaces and nodes.
const ours = "endure.packtree.dev/campaign"

// read lists the world once, after the last one.
func read(ctx context.Context, c *live.Cluster, last *World, all bool) (*World, error) {
	standing, err := c.Standing(ctx, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	var groups scheduling.PodGroupList
	if err := c.List(ctx, &groups); err != nil {
		return nil, err
	}
	w := &World{Standing: standing, Groups: groups.Items}
	w.seen(last, time.Now())
	if w.Topologies, err = c.Topologies(ctx); err != nil || !all {
		return w, err
	}
	for _, kind := range slices.Concat(others, live.Made) {
		if kind.Kind == "Pod" || kind.Kind == "PodGroup" {
			continue
		}
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
	for i := range w.Nodes {
		node := &w.Nodes[i]
		labels := fmt.Sprint(node.Labels)
		if was, known := w.Labels[node.Name]; known && was != labels {
			w.Moved[node.Name] = now
		}
		w.Labels[node.Name] = labels
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
				g.present[g.pods[j].Labels[kai.LabelSubGroupName]]++
			}
			if g.pods[j].Spec.NodeName != "" {
				g.bound[g.pods[j].Labels[kai.LabelSubGroupName]]++
			}
		}
		gangs = append(gangs, g)
	}
	return gangs
}

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
	for leaf, least := range placement.Minima(g.group) {
		if counts[leaf] < least {
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
