package overview

import (
	"slices"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
)

// Relation says whether a relation holds of the pods of a gang that stand.
type Relation struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup.
	Gang string `json:"gang"`
	relationstatus.Relation
}

// relationsOf judges the relations of all gangs with running pods.
func relationsOf(read *inventory.Inventory, shows func(gang.Key) bool) ([]Relation, error) {
	result := []Relation{}
	var domains *relationstatus.Domains
	for _, standing := range turns.Standing(read) {
		key := gang.KeyOfPodGroup(standing.PodGroup)
		if len(standing.Relations) == 0 || !shows(key) {
			continue
		}
		if domains == nil {
			levels := map[string][]string{}
			for name := range read.Topologies {
				levels[name] = read.LevelKeys(name)
			}
			var err error
			if domains, err = relationstatus.NewDomains(levels, slices.Values(read.Nodes)); err != nil {
				return nil, err
			}
		}
		judged, err := domains.Of(standing)
		if err != nil {
			return nil, err
		}
		for _, relation := range judged {
			result = append(result, Relation{key.Namespace, key.Name, relation})
		}
	}
	return result, nil
}
