package clusterview

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
)

// repelling knows how pods on nodes keep others away.
type repelling struct {
	byNode map[string]eligibility.Repelling
	// union is nil if it has to be made anew.
	union *eligibility.Repelling
}

func none() eligibility.Repelling {
	return eligibility.Repelling{Labels: sets.New[string](), Topologies: sets.New[string]()}
}

func (r *repelling) set(node string, info fwk.NodeInfo) {
	repellers := info.GetPodsWithRequiredAntiAffinity()
	if len(repellers) == 0 {
		r.drop(node)
		return
	}
	read := none()
	for _, pod := range repellers {
		for _, term := range pod.GetRequiredAntiAffinityTerms() {
			read.Topologies.Insert(term.TopologyKey)
			requirements, _ := term.Selector.Requirements()
			for i := range requirements {
				read.Labels.Insert(requirements[i].Key())
			}
		}
	}
	if r.byNode == nil {
		r.byNode = map[string]eligibility.Repelling{}
	}
	known := r.byNode[node]
	if !known.Labels.Equal(read.Labels) || !known.Topologies.Equal(read.Topologies) {
		r.byNode[node], r.union = read, nil
	}
}

func (r *repelling) drop(node string) {
	if _, known := r.byNode[node]; known {
		delete(r.byNode, node)
		r.union = nil
	}
}

func (r *repelling) all() eligibility.Repelling {
	if r.union == nil {
		union := none()
		for _, read := range r.byNode {
			union.Labels.Insert(read.Labels.UnsortedList()...)
			union.Topologies.Insert(read.Topologies.UnsortedList()...)
		}
		r.union = &union
	}
	return *r.union
}
