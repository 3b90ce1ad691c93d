package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/translation"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// gangIndex finds the pods of a gang by its key.
const gangIndex = "packtree.dev/gang"

// indexByGang adds gangIndex to the pods of kube-scheduler's own cache. Each profile makes a plugin of its own, and
// all of them share the cache.
func indexByGang(informer cache.SharedIndexInformer) error {
	if _, exists := informer.GetIndexer().GetIndexers()[gangIndex]; exists {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{gangIndex: func(object any) ([]string, error) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("the pod cache holds a %T", object)
		}
		key, ok := gang.KeyOf(pod)
		if !ok {
			return nil, nil
		}
		return []string{key.String()}, nil
	}})
}

func keyOf(pod *corev1.Pod) gang.Key {
	key, _ := gang.KeyOf(pod)
	return key
}

func keyOfPodGroup(podGroup *scheduling.PodGroup) gang.Key {
	return gang.Key{Namespace: podGroup.Namespace, Name: podGroup.Name}
}

// versionOf returns the version of a gang as the API server shows it.
func (p *Plugin) versionOf(key gang.Key) (gangstate.Version, error) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return gangstate.Version{}, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	return gangstate.VersionOf(podGroup, p.topologyVersion), nil
}

func (p *Plugin) topologyVersion(name string) string {
	topology, err := p.topologies.Get(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d", topology.UID, topology.Generation)
}

// latest returns the pod as the cache has it. The queue can lag behind: it may hold a pod from before the pod grouper
// told it its gang.
func (p *Plugin) latest(pod *corev1.Pod) *corev1.Pod {
	current, err := p.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || current.UID != pod.UID {
		return pod
	}
	return current
}

// isGone reports whether the API server shows a pod no more.
func (p *Plugin) isGone(pod *corev1.Pod) bool {
	current, err := p.pods.Pods(pod.Namespace).Get(pod.Name)
	return apierrors.IsNotFound(err) || err == nil && current.UID != pod.UID
}

func (p *Plugin) inGang(pod *corev1.Pod) bool {
	_, member := gang.KeyOf(p.latest(pod))
	return member
}

// shownPodsOf returns the pods of a gang as the API server shows them.
func (p *Plugin) shownPodsOf(key gang.Key) ([]*corev1.Pod, error) {
	found, err := p.members.ByIndex(gangIndex, key.String())
	if err != nil {
		return nil, fmt.Errorf("finding the pods of %s: %w", key, err)
	}
	pods := make([]*corev1.Pod, len(found))
	for i, object := range found {
		pods[i] = object.(*corev1.Pod)
	}
	return pods, nil
}

// podsOf returns the pods of a gang as they are or are about to be: those that have been put on a node name it.
func (p *Plugin) podsOf(key gang.Key) ([]*corev1.Pod, error) {
	pods, err := p.shownPodsOf(key)
	if err != nil {
		return nil, err
	}
	assumed := map[types.UID]*corev1.Pod{}
	for _, pod := range p.gangs.AssumedPods(key) {
		assumed[pod.UID] = pod
	}
	for i, pod := range pods {
		if onNode := assumed[pod.UID]; onNode != nil && gang.Pending(pod) {
			pods[i] = onNode
		}
	}
	return pods, nil
}

// assemble reads a gang.
func (p *Plugin) assemble(podGroup *scheduling.PodGroup) (*gang.Gang, *gang.Hold, error) {
	pods, err := p.podsOf(gang.Key{Namespace: podGroup.Namespace, Name: podGroup.Name})
	if err != nil {
		return nil, nil, err
	}
	assembled, hold := gang.AssembleFor(p.profiles.have, podGroup, pods, p.levels)
	return assembled, hold, nil
}

func (p *Plugin) levels(topology string) ([]string, bool) {
	found, err := p.topologies.Get(topology)
	if err != nil {
		return nil, false
	}
	return translation.LevelsOf(found), true
}

// topologiesOf returns the Topologies that the gangs name. One that was deleted since a gang was assembled is an error,
// after which the gang is tried again.
func (p *Plugin) topologiesOf(gangs ...*gang.Gang) (map[string]*kai.Topology, error) {
	topologies := map[string]*kai.Topology{}
	for _, each := range gangs {
		for _, name := range each.Topologies() {
			topology, err := p.topologies.Get(name)
			if err != nil {
				return nil, fmt.Errorf("reading Topology %s: %w", name, err)
			}
			topologies[name] = topology
		}
	}
	return topologies, nil
}
