package overview

import (
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/spares"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// levelDomain is a domain of a level.
type levelDomain struct{ level, path string }

// countSpares has domains say how many spares they are to have and how many there are. A note says which Topologies
// cannot be understood.
func countSpares(cluster *inventory.Inventory, table *turns.Table, seen *Overview) {
	kept := table.Spares()
	for i := range seen.Topologies {
		topology := cluster.Topologies[seen.Topologies[i].Name]
		if topology == nil {
			continue
		}
		if _, wrong := spares.Of(topology); wrong != nil {
			seen.Notes = append(seen.Notes, "Topology "+topology.Name+" keeps no spares: "+wrong.Error())
		}
		counts := map[levelDomain]*occupancy.Spares{}
		for _, domain := range kept {
			if domain.Topology == topology.Name {
				at := levelDomain{domain.Level(), domain.Path.String()}
				counts[at] = &occupancy.Spares{Wanted: domain.Nodes, There: len(domain.There)}
			}
		}
		setSpares(seen.Topologies[i].Cluster, counts)
	}
}

func setSpares(domain *occupancy.Domain, counts map[levelDomain]*occupancy.Spares) {
	domain.Spares = counts[levelDomain{domain.Level, domain.Path}]
	for _, below := range domain.Domains {
		setSpares(below, counts)
	}
}
