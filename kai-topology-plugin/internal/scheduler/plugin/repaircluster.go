package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// speaksFor reports whether it is for this profile to report on a gang.
func (p *Plugin) speaksFor(key gang.Key) bool {
	pods, err := p.lister.Shown(key)
	return err == nil && p.profiles.speaksFor(p.name, pods)
}

// shown is the cluster as the API server shows it. Nothing in it may be changed.
func shown(lister *ganglister.Lister) (*inventory.Inventory, error) {
	cluster := inventory.New()
	cluster.Zones = lister.Zones
	var err error
	if cluster.Nodes, err = lister.Nodes.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	if cluster.Pods, err = lister.Pods.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading pods: %w", err)
	}
	if cluster.PodGroups, err = lister.PodGroups.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading PodGroups: %w", err)
	}
	topologies, err := lister.Topologies.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reading Topologies: %w", err)
	}
	for _, topology := range topologies {
		cluster.Topologies[topology.Name] = topology
	}
	return cluster, nil
}

// shownAndAssumed is the cluster as the API server shows it, with the pods of gangs that the scheduler has put on a
// node already.
func (p *Plugin) shownAndAssumed() (*inventory.Inventory, error) {
	cluster, err := shown(p.lister)
	if err != nil {
		return nil, err
	}
	cluster.Placement = p.placement
	gangs := make([]gang.Key, 0, len(cluster.PodGroups))
	for _, podGroup := range cluster.PodGroups {
		gangs = append(gangs, gang.KeyOfPodGroup(podGroup))
	}
	p.lister.Assume(cluster.Pods, gangs...)
	return cluster, nil
}

// reserved is the room that a gang has to leave to others.
func (p *Plugin) reserved(asking gang.Key, priority int32) clusterview.Reserved {
	return p.gangs.Reserved(gang.Rank{Gang: asking, Priority: priority}, nil).Room
}

// stillStanding returns those of some pods that stand yet.
func (m *mender) stillStanding(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		found := m.shownAs(pod)
		return found == nil || !gang.Standing(found)
	})
}

// shownAs returns a pod as the API server shows it; nil if it is gone.
func (m *mender) shownAs(pod *corev1.Pod) *corev1.Pod {
	found, err := m.lister.Pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || found.UID != pod.UID {
		return nil
	}
	return found
}

// left reports whether a pod has left its node or is about to, or will never get there.
func (m *mender) left(pod *corev1.Pod) bool {
	found := m.shownAs(pod)
	return found == nil || !gang.Standing(found) && !gang.Pending(found)
}

// seatsOfOtherMoves reads from statuses which seats other profiles hold for moves. Nothing else shows them. Two
// profiles that plan at the same time do not see each other's seats, but before pods are evicted the seats are written,
// and all is proved again.
func (m *mender) seatsOfOtherMoves(
	podGroups []*scheduling.PodGroup,
) (map[gang.Key][]gangstate.Placement, error) {
	found := map[gang.Key][]gangstate.Placement{}
	for _, podGroup := range podGroups {
		if !gangstate.IsMoving(podGroup) {
			continue
		}
		key := gang.KeyOfPodGroup(podGroup)
		pods, err := m.lister.Shown(key)
		if err != nil {
			return nil, fmt.Errorf("reading the pods of gang %s: %w", key, err)
		}
		if !m.profiles.speaksFor(m.name, pods) {
			found[key] = gangstate.ToldSeats(podGroup, pods)
		}
	}
	return found, nil
}
