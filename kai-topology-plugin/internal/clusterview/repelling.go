package clusterview

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// repelling knows the labels by which pods on nodes keep others away.
type repelling struct {
	byNode map[string]sets.Set[string]
	// all is the union; nil if it has to be made anew.
	all sets.Set[string]
}

func (r *repelling) set(node string, info fwk.NodeInfo) {
	repellers := info.GetPodsWithRequiredAntiAffinity()
	if len(repellers) == 0 {
		r.drop(node)
		return
	}
	keys := sets.New[string]()
	for _, pod := range repellers {
		for _, term := range pod.GetRequiredAntiAffinityTerms() {
			requirements, _ := term.Selector.Requirements()
			for i := range requirements {
				keys.Insert(requirements[i].Key())
			}
		}
	}
	if r.byNode == nil {
		r.byNode = map[string]sets.Set[string]{}
	}
	if !r.byNode[node].Equal(keys) {
		r.byNode[node], r.all = keys, nil
	}
}

func (r *repelling) drop(node string) {
	if _, known := r.byNode[node]; known {
		delete(r.byNode, node)
		r.all = nil
	}
}

func (r *repelling) keys() sets.Set[string] {
	if r.all == nil {
		r.all = sets.New[string]()
		for _, keys := range r.byNode {
			r.all = r.all.Union(keys)
		}
	}
	return r.all
}
