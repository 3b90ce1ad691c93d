package plugin

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
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
	levels := m.levels()
	if len(levels) == 0 {
		return nil, nil
	}
	cluster, err := shown(m.lister)
	if err == nil {
		err = m.lay(cluster, func(table *turns.Table) error {
			trial, err := table.Begin(levels)
			if err != nil {
				return err
			}
			defer trial.End()
			free = capacity.Report(levels, capacity.NodesOf(trial), bounds)
			slots = capacity.Slots(trial, levels, m.profiles.now().shapes, bounds)
			return nil
		})
	}
	if err != nil {
		klog.Background().Error(err, "Counting what is free")
	}
	return free, slots
}

// Relations counts the relations of gangs with running pods, as far as they can be read.
func (m *measure) Relations() (tally relationstatus.Tally) {
	podGroups, err := m.lister.PodGroups.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Reading PodGroups")
		return tally
	}
	related := slices.DeleteFunc(podGroups, func(podGroup *scheduling.PodGroup) bool {
		return podGroup.Annotations[scheduling.AnnotationRelations] == ""
	})
	if len(related) == 0 {
		return tally
	}
	nodes, err := m.lister.Nodes.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Reading nodes")
		return tally
	}
	domains, err := relationstatus.NewDomains(m.levels(), slices.Values(nodes))
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

// levels returns the node label keys of the levels of each Topology, the broadest first.
func (m *measure) levels() map[string][]string {
	topologies, err := m.lister.Topologies.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Reading Topologies")
		return nil
	}
	levels := map[string][]string{}
	for _, topology := range topologies {
		levels[topology.Name] = nodes.Levels(topology)
	}
	return levels
}
