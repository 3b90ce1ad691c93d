// Package relationstatus says whether the relations of gangs hold of the pods that stand.
package relationstatus

import (
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/packing"
)

// Relation says whether a relation holds of the pods of a gang that stand.
type Relation struct {
	// Name is that of the relation in its gang, and Rule says in words what it asks for.
	Name     string `json:"name"`
	Rule     string `json:"rule"`
	Required bool   `json:"required"`
	// Lacks is how many items would have to go elsewhere, or to come, for the relation to hold.
	Lacks int `json:"lacks"`
}

// Domains knows where nodes are, and nothing of what they have.
type Domains struct{ cluster *packing.Cluster }

// NewDomains reads the domains of nodes. Levels has the node label keys of each Topology, the broadest first.
func NewDomains(levels map[string][]string, nodes iter.Seq[*corev1.Node]) (*Domains, error) {
	cluster := packing.NewCluster()
	for name, keys := range levels {
		if err := cluster.SetTopology(name, keys); err != nil {
			return nil, fmt.Errorf("reading Topology %s: %w", name, err)
		}
	}
	for node := range nodes {
		cluster.SetNode(packing.Node{Name: node.Name, Labels: node.Labels})
	}
	return &Domains{cluster}, nil
}

// Of judges each relation of a gang that has a tree and only running pods.
func (d *Domains) Of(standing *gang.Gang) ([]Relation, error) {
	asked, err := solve.Translate(standing, nil, nil)
	if err != nil {
		return nil, err
	}
	lacks, err := d.cluster.Deficits(asked)
	if err != nil {
		return nil, fmt.Errorf("the relations of %s: %w", gang.KeyOfPodGroup(standing.PodGroup), err)
	}
	var judged []Relation
	for i := range standing.Relations {
		r := &standing.Relations[i]
		relation := Relation{Name: r.Name, Rule: r.String(), Required: !r.Preferred()}
		at := slices.IndexFunc(asked.Relations, func(of packing.Relation) bool { return of.Name == r.Name })
		if at >= 0 {
			relation.Lacks = lacks[at]
		}
		judged = append(judged, relation)
	}
	return judged, nil
}

// Tally counts relations by whether they are required, and then by whether they hold.
type Tally [2][2]int

// Add counts one more.
func (t *Tally) Add(r Relation) { t[index(r.Required)][index(r.Lacks == 0)]++ }

// Count returns how many relations that are required, or not, hold, or do not.
func (t *Tally) Count(required, holds bool) int { return t[index(required)][index(holds)] }

func index(is bool) int {
	if is {
		return 1
	}
	return 0
}
