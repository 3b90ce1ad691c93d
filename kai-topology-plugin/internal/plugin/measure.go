package plugin

import (
	"maps"
	"slices"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/ganglister"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/relationstatus"
	"packtree.dev/kai-topology-plugin/internal/translation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// measure follows what the API server shows of nodes, pods and gangs, and counts when it is asked, which is as often as
// metrics are scraped.
type measure struct {
	lister  *ganglister.Lister
	tracker capacity.Tracker
	// counting gives those who ask for slots at the same time, which is with the same bounds, one count.
	counting singleflight.Group
	counter  capacity.Counter
	profiles *profiles
	// relate records in a gang where the others stand that its relations name.
	relate func(*gang.Gang)
}

// nodeSeen records a node as it is now.
func (m *measure) nodeSeen(node *corev1.Node) {
	m.tracker.NodeSeen(node, kubeframework.Allocatable(kubeframework.BareNode(node)))
}

// podChanged records what a pod was and is; before is nil for one that is new, after for one that is gone.
func (m *measure) podChanged(before, after *corev1.Pod) {
	was, takes := taking(before), taking(after)
	if was.node != takes.node || !maps.Equal(was.requests, takes.requests) {
		m.tracker.Take(takes.node, takes.requests)
		m.tracker.GiveBack(was.node, was.requests)
	}
}

// taken is what a pod takes of which node; nothing of none without one.
type taken struct {
	node     string
	requests packing.Resources
}

func taking(pod *corev1.Pod) taken {
	if pod == nil || pod.Spec.NodeName == "" {
		return taken{}
	}
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		klog.Background().Error(err, "Reading what a pod asks for", "pod", klog.KObj(pod))
		return taken{}
	}
	return taken{pod.Spec.NodeName, requests}
}

// Free counts what is free in domains.
func (m *measure) Free(bounds capacity.Bounds) []capacity.Level {
	levels := m.levels()
	if len(levels) == 0 {
		return nil
	}
	return capacity.Report(levels, m.tracker.Stock().Nodes, bounds)
}

// Slots counts how many more gangs of the named shapes fit.
func (m *measure) Slots(bounds capacity.Bounds) []capacity.LevelSlots {
	levels := m.levels()
	if len(levels) == 0 {
		return nil
	}
	counted, _, _ := m.counting.Do("", func() (any, error) {
		return m.counter.Count(m.tracker.Stock(), levels, m.profiles.now().shapes, bounds), nil
	})
	return counted.([]capacity.LevelSlots)
}

// Relations counts the relations of gangs of which pods stand, as far as they can be read.
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
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !gang.Standing(pod) })
	if err != nil || len(pods) == 0 {
		return nil
	}
	standing, _ := gang.AssembleFor(m.lister.Ours, podGroup, pods, m.lister.Levels)
	if standing.Tree == nil {
		return nil
	}
	m.relate(standing)
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
		levels[topology.Name] = translation.LevelsOf(topology)
	}
	return levels
}
