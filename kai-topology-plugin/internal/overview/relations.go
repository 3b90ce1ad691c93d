package overview

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/translation"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/packing"
)

// Relation says whether a relation holds of the pods of a gang that stand.
type Relation struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup, and Name that of the relation.
	Gang string `json:"gang"`
	Name string `json:"name"`
	// Rule says in words what the relation asks for.
	Rule     string `json:"rule"`
	Required bool   `json:"required"`
	// Lacks is how many items would have to go elsewhere, or to come, for the relation to hold.
	Lacks int `json:"lacks"`
}

// relationsOf judges the relations of all gangs of which pods stand.
func relationsOf(read *inventory.Inventory, shows func(gang.Key) bool) ([]Relation, error) {
	result := []Relation{}
	var cluster *packing.Cluster
	for _, standing := range turns.Standing(read) {
		if len(standing.Relations) == 0 || !shows(gang.KeyOfPodGroup(standing.PodGroup)) {
			continue
		}
		if cluster == nil {
			var err error
			if cluster, err = domainsOf(read); err != nil {
				return nil, err
			}
		}
		reports, err := judge(cluster, standing)
		if err != nil {
			return nil, fmt.Errorf("the relations of %s: %w", gang.KeyOfPodGroup(standing.PodGroup), err)
		}
		result = append(result, reports...)
	}
	slices.SortStableFunc(result, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Gang, b.Gang))
	})
	return result, nil
}

// domainsOf is a cluster that knows where nodes are, and nothing of what they have.
func domainsOf(read *inventory.Inventory) (*packing.Cluster, error) {
	cluster := packing.NewCluster()
	for name := range read.Topologies {
		if err := cluster.SetTopology(name, read.LevelKeys(name)); err != nil {
			return nil, fmt.Errorf("reading Topology %s: %w", name, err)
		}
	}
	for _, node := range read.Nodes {
		cluster.SetNode(packing.Node{Name: node.Name, Labels: node.Labels})
	}
	return cluster, nil
}

// judge has a report for each relation of a gang.
func judge(cluster *packing.Cluster, standing *gang.Gang) ([]Relation, error) {
	asked, err := translation.Gang(standing, nil)
	if err != nil {
		return nil, err
	}
	lacks, err := cluster.Lacks(asked)
	if err != nil {
		return nil, err
	}
	key := gang.KeyOfPodGroup(standing.PodGroup)
	var reports []Relation
	for i := range standing.Relations {
		r := &standing.Relations[i]
		report := Relation{Namespace: key.Namespace, Gang: key.Name, Name: r.Name, Rule: r.String(), Required: !r.Preferred()}
		for at := range asked.Relations {
			if translation.Source(&asked.Relations[at]) == r.Name {
				report.Lacks = max(report.Lacks, lacks[at])
			}
		}
		reports = append(reports, report)
	}
	return reports, nil
}
