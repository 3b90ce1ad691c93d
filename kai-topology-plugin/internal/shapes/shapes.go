// Package shapes says which gangs people have, and which ones they ask about, so that it can be counted how many more
// of them fit.
package shapes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Requests returns what a pod takes of a node.
type Requests func(*corev1.Pod) (packing.Resources, error)

// Of returns the shape of each leaf of a gang whose pods are alike: as many pods as its minimum, in one domain of the
// narrowest level that it or a group above it requires. A leaf without pods, without a minimum, or with pods that
// differ has none.
func Of(g *gang.Gang, requests Requests) ([]capacity.Shape, error) {
	if g.Tree == nil {
		return nil, nil
	}
	members := map[string][]*corev1.Pod{}
	for _, pod := range slices.Concat(g.Standing, g.Pending, g.Gated) {
		members[gang.LeafOf(pod)] = append(members[gang.LeafOf(pod)], pod)
	}
	var found []capacity.Shape
	for _, leaf := range g.Tree.Leaves() {
		pods := members[leaf.Name]
		if len(pods) == 0 || leaf.MinMember == 0 {
			continue
		}
		required := requiredOf(leaf, g.Shared)
		asked, err := alike(pods, requests)
		if err != nil {
			return nil, err
		}
		if asked != nil {
			found = append(found, asked.shape(int64(leaf.MinMember), required))
		}
	}
	return found, nil
}

// demand is what a pod asks for, and what it says of its nodes.
type demand struct {
	pod      *corev1.Pod
	requests packing.Resources
	chosen   string
}

func demandOf(pod *corev1.Pod, requests Requests) (*demand, error) {
	requested, err := requests(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	chosen, err := choiceOf(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the node selection of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return &demand{pod, requested, chosen}, nil
}

// alike returns what each of some pods demands; nil if one demands something else than the others.
func alike(pods []*corev1.Pod, requests Requests) (*demand, error) {
	first, err := demandOf(pods[0], requests)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods[1:] {
		other, err := demandOf(pod, requests)
		if err != nil {
			return nil, err
		}
		// Nothing of a resource is as good as none of it, which only the texts know.
		same := maps.Equal(first.requests, other.requests) || amounts(first.requests) == amounts(other.requests)
		if !same || first.chosen != other.chosen {
			return nil, nil
		}
	}
	return first, nil
}

// shape returns the shape of so many pods with a demand.
func (d *demand) shape(pods int64, required string) capacity.Shape {
	name := fmt.Sprintf("%d x %s", pods, amounts(d.requests))
	if required != "" {
		name += " in one " + required
	}
	return capacity.Shape{
		Name: name + d.chosen, Pods: pods, Requests: d.requests, RequiredLevel: required, Takes: takes(d.pod),
	}
}

func requiredOf(leaf *podgrouptree.Group, shared *gang.Shared) string {
	for group := leaf; group != nil; group = group.Parent {
		if level := group.Constraint.RequiredTopologyLevel; level != "" {
			return level
		}
	}
	if shared != nil {
		return shared.Constraint.RequiredTopologyLevel
	}
	return ""
}

// amounts is as people write requests: sorted, without the pod itself.
func amounts(requests packing.Resources) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if amount := requests[name]; amount > 0 && name != kubeframework.ResourcePods {
			texts = append(texts, name+"="+quantity(name, amount))
		}
	}
	if len(texts) == 0 {
		return "no requests"
	}
	return strings.Join(texts, ",")
}

func quantity(name string, amount int64) string {
	switch {
	case name == string(corev1.ResourceCPU):
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case name == string(corev1.ResourceMemory), name == string(corev1.ResourceEphemeralStorage),
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return resource.NewQuantity(amount, resource.DecimalSI).String()
	}
}

// choice is what a pod says of its nodes besides the node selector, which is written out.
type choice struct {
	Affinity    *corev1.NodeSelector `json:",omitempty"`
	Tolerations []corev1.Toleration  `json:",omitempty"`
}

// choiceOf is a text that differs for pods that do not take the same nodes. Tolerations of nodes that are out of
// service are left out: no gang is counted there, and the API server gives them to every pod.
func choiceOf(pod *corev1.Pod) (string, error) {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		fmt.Fprintf(&text, " on %s=%s", key, pod.Spec.NodeSelector[key])
	}
	rest := choice{Tolerations: slices.DeleteFunc(slices.Clone(pod.Spec.Tolerations),
		func(toleration corev1.Toleration) bool {
			return strings.HasPrefix(toleration.Key, capacity.OutOfService)
		})}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		rest.Affinity = affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if len(rest.Tolerations) == 0 && rest.Affinity == nil {
		return text.String(), nil
	}
	written, err := json.Marshal(rest)
	if err != nil {
		return "", err
	}
	sum := fnv.New32a()
	sum.Write(written)
	fmt.Fprintf(&text, " #%08x", sum.Sum32())
	return text.String(), nil
}

// takes returns which nodes take a pod by their labels and taints. It holds on to nothing else of the pod.
func takes(pod *corev1.Pod) func(*corev1.Node) bool {
	bare := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations}}
	if affinity := pod.Spec.Affinity; affinity != nil {
		bare.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity.NodeAffinity}
	}
	required := nodeaffinity.GetRequiredNodeAffinity(bare)
	return func(node *corev1.Node) bool {
		selected, err := required.Match(node)
		return err == nil && selected && !kubeframework.Repels(node, bare)
	}
}

// Named is a shape that somebody asks about.
type Named struct {
	// Name is what it is called in metrics: lower case letters, digits and dashes.
	Name string `json:"name"`
	// Pods is how many pods a gang has; Resources is what each requests.
	Pods      int64               `json:"pods"`
	Resources corev1.ResourceList `json:"resources"`
	// RequiredLevel is the node label key of the level in one domain of which the gang has to stand; unset, it may
	// stand anywhere.
	RequiredLevel string `json:"requiredLevel,omitempty"`
	// NodeSelector are labels that the nodes have to have; unset, none. Taints are tolerated.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// shape returns the shape of what is valid, under a name that says what it asks for.
func (n *Named) shape() (capacity.Shape, error) {
	asked, err := demandOf(n.pod(), kubeframework.Requests)
	if err != nil {
		return capacity.Shape{}, err
	}
	return asked.shape(n.Pods, n.RequiredLevel), nil
}

func (n *Named) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: n.Resources}}}
	pod.Spec.NodeSelector = n.NodeSelector
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return pod
}
