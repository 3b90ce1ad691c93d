package kubeframework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// repellers are the required anti-affinity rules of pods that were put on a snapshot, by the node label that they are
// about. The snapshot lists the nodes with such pods once, when it is taken; the filter would overlook pods that come
// later.
type repellers map[nodeLabel][]fwk.AffinityTerm

type nodeLabel struct{ key, value string }

func (r *repellers) add(info *framework.PodInfo, node fwk.NodeInfo) {
	if node == nil {
		return
	}
	for _, term := range info.GetRequiredAntiAffinityTerms() {
		value, ok := node.Node().Labels[term.TopologyKey]
		if !ok {
			continue
		}
		if *r == nil {
			*r = repellers{}
		}
		label := nodeLabel{term.TopologyKey, value}
		(*r)[label] = append((*r)[label], term)
	}
}

// repel reports whether any of them keeps a pod off a node. Of the labels of a namespace only the one that it always
// has is known here, its name.
func (r repellers) repel(pod *corev1.Pod, node *corev1.Node) bool {
	if len(r) == 0 {
		return false
	}
	namespace := labels.Set{corev1.LabelMetadataName: pod.Namespace}
	for key, value := range node.Labels {
		for _, term := range r[nodeLabel{key, value}] {
			if term.Matches(pod, namespace) {
				return true
			}
		}
	}
	return false
}

// Repulsion is a rule of required anti-affinity.
type Repulsion struct {
	// Owners are the names of the pods with the rule, and Repelled the names of the pods that it keeps off.
	Owners, Repelled sets.Set[string]
}

// Mutual reports whether the rule keeps off all the pods that have it.
func (r *Repulsion) Mutual() bool { return r.Repelled.IsSuperset(r.Owners) }

// Repulsions returns the rules of required anti-affinity, by one topology key, that pods of one namespace have, in
// the order in which they come up.
func Repulsions(pods []*corev1.Pod, topologyKey string) ([]*Repulsion, error) {
	var found []*Repulsion
	known := map[string]*Repulsion{}
	for _, owner := range pods {
		info, err := framework.NewPodInfo(owner)
		if err != nil {
			return nil, fmt.Errorf("reading pod %s: %w", owner.Name, err)
		}
		for _, term := range info.GetRequiredAntiAffinityTerms() {
			if term.TopologyKey != topologyKey {
				continue
			}
			text := fmt.Sprint(sets.List(term.Namespaces), term.NamespaceSelector, term.Selector)
			if known[text] == nil {
				known[text] = &Repulsion{Owners: sets.New[string](), Repelled: repelledBy(&term, pods)}
				found = append(found, known[text])
			}
			known[text].Owners.Insert(owner.Name)
		}
	}
	return found, nil
}

func repelledBy(term *fwk.AffinityTerm, pods []*corev1.Pod) sets.Set[string] {
	repelled := sets.New[string]()
	for _, pod := range pods {
		if term.Matches(pod, labels.Set{corev1.LabelMetadataName: pod.Namespace}) {
			repelled.Insert(pod.Name)
		}
	}
	return repelled
}
