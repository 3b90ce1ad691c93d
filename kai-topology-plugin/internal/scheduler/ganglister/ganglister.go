// Package ganglister reads gangs from the caches of the informers: their PodGroups, pods and Topologies, and the nodes
// that their pods stand on.
package ganglister

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	kailisters "packtree.dev/shared/client/listers/kai/v1alpha1"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Lister reads gangs. What it returns belongs to the caches and must not be changed.
type Lister struct {
	Pods       corelisters.PodLister
	Nodes      corelisters.NodeLister
	PodGroups  schedulinglisters.PodGroupLister
	Topologies kailisters.TopologyLister
	// Members is the cache behind Pods; Index was called for its informer.
	Members cache.Indexer
	// Zones are the NUMA zones of the nodes.
	Zones *zones.Catalogue
	// Finished has the pods that have done their work, which Members has no more.
	Finished cache.SharedIndexInformer
	// Unshown returns the pods of a gang that the scheduler has put on a node which the API server does not show yet, and
	// how many pods of each leaf have done their work and are gone.
	Unshown func(gang.Key) (assumed []*corev1.Pod, ended map[string]int)
	// Ours reports whether the pods of a scheduler are placed by this process.
	Ours func(scheduler string) bool
}

// gangIndex finds the pods of a gang by its key, and nodeIndex those on a node by its name.
const (
	gangIndex = "packtree.dev/gang"
	nodeIndex = "packtree.dev/node"
)

// Index has the cache of an informer find the pods of a gang, and of a node. Pods of a namespace that are expected to
// name a gang and wait are found under a key without name. Each profile calls it for the one informer
// that they share.
func Index(informer cache.SharedIndexInformer) error {
	if _, exists := informer.GetIndexer().GetIndexers()[gangIndex]; exists {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{
		gangIndex: indexBy(func(pod *corev1.Pod) (string, bool) {
			key, member := gang.KeyOf(pod)
			return key.String(), member || gang.Pending(pod) && gang.Expected(pod)
		}),
		nodeIndex: indexBy(func(pod *corev1.Pod) (string, bool) { return pod.Spec.NodeName, pod.Spec.NodeName != "" }),
	})
}

func indexBy(of func(*corev1.Pod) (string, bool)) cache.IndexFunc {
	return func(object any) ([]string, error) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("the pod cache holds a %T", object)
		}
		if value, ok := of(pod); ok {
			return []string{value}, nil
		}
		return nil, nil
	}
}

// Free returns what the pods that the cache shows on a node leave of it; nil if it does not show the node.
func (l *Lister) Free(name string) packing.Resources {
	node, err := l.Nodes.Get(name)
	if err != nil {
		return nil
	}
	pods, err := indexed(l.Members, nodeIndex, name)
	if err != nil {
		return nil
	}
	return kubeframework.Free(kubeframework.BareNode(node, pods...))
}

// PodGroup returns the PodGroup of a gang, or an error that apierrors.IsNotFound knows.
func (l *Lister) PodGroup(key gang.Key) (*scheduling.PodGroup, error) {
	podGroup, err := l.PodGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	return podGroup, nil
}

// Version returns the version of a gang as the API server shows it.
func (l *Lister) Version(key gang.Key) (gangstate.Version, error) {
	podGroup, err := l.PodGroup(key)
	if err != nil {
		return gangstate.Version{}, err
	}
	return l.VersionOf(podGroup), nil
}

// VersionOf returns the version of a PodGroup with the Topologies as they are.
func (l *Lister) VersionOf(podGroup *scheduling.PodGroup) gangstate.Version {
	return gangstate.VersionOf(podGroup, func(name string) string {
		topology, err := l.Topologies.Get(name)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s %d", topology.UID, topology.Generation)
	})
}

// Latest returns the pod as the cache has it. The queue can lag behind: it may hold a pod from before the pod grouper
// gave it its gang.
func (l *Lister) Latest(pod *corev1.Pod) *corev1.Pod {
	current, err := l.Pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || current.UID != pod.UID {
		return pod
	}
	return current
}

// KeyOf returns the gang of a pod as the cache has it, and false if it has none.
func (l *Lister) KeyOf(pod *corev1.Pod) (gang.Key, bool) { return gang.KeyOf(l.Latest(pod)) }

// IsGone reports whether the API server shows a pod no more.
func (l *Lister) IsGone(pod *corev1.Pod) bool {
	current, err := l.Pods.Pods(pod.Namespace).Get(pod.Name)
	return apierrors.IsNotFound(err) || err == nil && current.UID != pod.UID
}

// Keys returns the keys under which there are pods.
func (l *Lister) Keys() []gang.Key {
	var keys []gang.Key
	for _, value := range l.Members.ListIndexFuncValues(gangIndex) {
		namespace, name, _ := strings.Cut(value, string(types.Separator))
		keys = append(keys, gang.Key{Namespace: namespace, Name: name})
	}
	return keys
}

// Shown returns the pods of a gang as the API server shows them.
func (l *Lister) Shown(key gang.Key) ([]*corev1.Pod, error) { return ShownIn(l.Members, key) }

// ShownIn returns the pods of a gang in a cache that Index was called for.
func ShownIn(members cache.Indexer, key gang.Key) ([]*corev1.Pod, error) {
	return indexed(members, gangIndex, key.String())
}

// indexed returns the pods that an index of a cache has for a value.
func indexed(members cache.Indexer, index, value string) ([]*corev1.Pod, error) {
	found, err := members.ByIndex(index, value)
	if err != nil {
		return nil, fmt.Errorf("finding the pods of %s: %w", value, err)
	}
	pods := make([]*corev1.Pod, len(found))
	for i, object := range found {
		pods[i] = object.(*corev1.Pod)
	}
	return pods, nil
}

// On returns the pods on a node as the API server shows them, without completed pods.
func (l *Lister) On(node string) ([]*corev1.Pod, error) { return indexed(l.Members, nodeIndex, node) }

// PodsOf returns the pods of a gang; assumed pods name their node.
func (l *Lister) PodsOf(key gang.Key) ([]*corev1.Pod, error) {
	pods, err := l.Shown(key)
	if err != nil {
		return nil, err
	}
	l.Assume(pods, key)
	return pods, nil
}

// Assume replaces the pods of some gangs that wait, and were put on a node, by pods that name it.
func (l *Lister) Assume(pods []*corev1.Pod, gangs ...gang.Key) {
	onNode := map[types.UID]*corev1.Pod{}
	for _, key := range gangs {
		assumed, _ := l.Unshown(key)
		for _, pod := range assumed {
			onNode[pod.UID] = pod
		}
	}
	for i, pod := range pods {
		if assumed := onNode[pod.UID]; assumed != nil && gang.Pending(pod) {
			pods[i] = assumed
		}
	}
}

// Standing returns the pods of each gang that stand and that chosen accepts, as the API server shows them.
func (l *Lister) Standing(chosen func(*corev1.Pod) bool) map[gang.Key][]*corev1.Pod {
	pods := map[gang.Key][]*corev1.Pod{}
	for _, name := range l.Members.ListIndexFuncValues(gangIndex) {
		found, err := l.Members.ByIndex(gangIndex, name)
		if err != nil {
			continue // The index exists: see Index.
		}
		for _, object := range found {
			if pod := object.(*corev1.Pod); gang.Standing(pod) && chosen(pod) {
				key, _ := gang.KeyOf(pod)
				pods[key] = append(pods[key], pod)
			}
		}
	}
	return pods
}

// Assemble reads the gang of a PodGroup as it is or is about to be.
func (l *Lister) Assemble(podGroup *scheduling.PodGroup) (*gang.Gang, *gang.Hold, error) {
	pods, err := l.all(gang.KeyOfPodGroup(podGroup))
	if err != nil {
		return nil, nil, err
	}
	assembled, hold := gang.AssembleFor(l.Ours, podGroup, pods, l.Levels)
	return assembled, hold, nil
}

// Gang reads a gang as it is or is about to be; nil if it has no PodGroup or that is invalid.
func (l *Lister) Gang(key gang.Key) (*gang.Gang, error) {
	podGroup, err := l.PodGroup(key)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	assembled, _, err := l.Assemble(podGroup)
	if err != nil || assembled.Tree == nil {
		return nil, err
	}
	return assembled, nil
}

// all returns the pods of a gang, with the completed ones; assumed pods name their node.
func (l *Lister) all(key gang.Key) ([]*corev1.Pod, error) {
	pods, err := l.PodsOf(key)
	if err != nil {
		return nil, err
	}
	return l.WithFinished(key, pods)
}

// Levels returns the levels of a Topology, broadest first, and false if it does not exist.
func (l *Lister) Levels(topology string) (podgrouptree.Hierarchy, bool) {
	found, err := l.Topologies.Get(topology)
	if err != nil {
		return nil, false
	}
	return podgrouptree.HierarchyOf(found), true
}

// LevelKeys returns the node labels that distinguish the levels of a Topology, broadest first; none if it does not
// exist.
func (l *Lister) LevelKeys(topology string) []string {
	levels, _ := l.Levels(topology)
	return levels.NodeLabels()
}

// TopologiesOf returns the Topologies that the gangs name. One that was deleted since a gang was assembled is an error,
// after which the gang is tried again.
func (l *Lister) TopologiesOf(gangs ...*gang.Gang) (map[string]*kai.Topology, error) {
	topologies := map[string]*kai.Topology{}
	for _, each := range gangs {
		for _, name := range each.Topologies() {
			topology, err := l.Topologies.Get(name)
			if err != nil {
				return nil, fmt.Errorf("reading Topology %s: %w", name, err)
			}
			topologies[name] = topology
		}
	}
	return topologies, nil
}

// Domain returns the path of the narrowest domain of some levels that a node is in; empty if there is no such node.
func (l *Lister) Domain(levels []string, node string) packing.Path {
	found, err := l.Nodes.Get(node)
	if err != nil {
		return nil
	}
	return nodes.Path(found.Labels, levels)
}
