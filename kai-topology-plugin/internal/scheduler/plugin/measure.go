package plugin

import (
	"slices"

	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// measure counts when it is asked, which is as often as metrics are scraped.
type measure struct {
	*Plugin
	// lay brings the copy of the cluster in step, for as long as run takes.
	lay func(cluster *inventory.Inventory, run func(*turns.Table) error) error
}

// Capacity counts what is free in domains, and how many more gangs of the named shapes fit.
func (m *measure) Capacity(bounds capacity.Bounds) (free []capacity.Level, slots []capacity.LevelSlots) {
	cluster, levels := m.read()
	if len(levels) == 0 {
		return nil, nil
	}
	err := m.lay(cluster, func(table *turns.Table) error {
		trial, err := table.Begin(levels)
		if err != nil {
			return err
		}
		defer trial.End()
		free = capacity.Report(levels, capacity.NodesOf(trial), bounds)
		slots = capacity.Slots(trial, levels, m.profiles.now().shapes, bounds)
		return nil
	})
	if err != nil {
		klog.Background().Error(err, "Counting what is free")
	}
	return free, slots
}

// read returns the cluster, and the node label keys of the levels of each Topology, the broadest first; no levels if it
// cannot be read.
func (m *measure) read() (*inventory.Inventory, map[string][]string) {
	cluster, err := shown(m.lister)
	if err != nil {
		klog.Background().Error(err, "Reading the cluster for metrics")
		return inventory.New(), nil
	}
	levels := map[string][]string{}
	for name, topology := range cluster.Topologies {
		levels[name] = nodes.Levels(topology)
	}
	return cluster, levels
}

// Relations counts the relations of gangs with running pods, as far as they can be read.
func (m *measure) Relations() (tally relationstatus.Tally) {
	cluster, levels := m.read()
	related := slices.DeleteFunc(cluster.PodGroups, func(podGroup *scheduling.PodGroup) bool {
		return podGroup.Annotations[scheduling.AnnotationRelations] == ""
	})
	if len(related) == 0 {
		return tally
	}
	domains, err := relationstatus.NewDomains(levels, slices.Values(cluster.Nodes))
	if err != nil {
		klog.Background().Error(err, "Reading the domains of nodes")
		return tally
	}
	for _, podGroup := range related {
		for _, relation := range m.relationsOf(podGroup, domains) {
			tally.Add(relation)
		}
	}
	return tally
}

// relationsOf judges the relations of a gang; none if no pod of it stands.
func (m *measure) relationsOf(
	podGroup *scheduling.PodGroup, domains *relationstatus.Domains,
) []relationstatus.Relation {
	key := gang.KeyOfPodGroup(podGroup)
	pods, err := m.lister.Shown(key)
	pods = gang.StandingOf(pods)
	if err != nil || len(pods) == 0 {
		return nil
	}
	standing, _ := gang.AssembleFor(m.lister.Ours, podGroup, pods, m.lister.Levels)
	if standing.Tree == nil {
		return nil
	}
	standing.Relate(m.gangs.Related)
	judged, err := domains.Of(standing)
	if err != nil {
		klog.Background().Error(err, "Judging the relations of a gang", "podGroup", key)
	}
	return judged
}
