// Package inventory is what decisions about gangs start from: the nodes, topologies, PodGroups and pods of a cluster,
// be they read from manifests or from an API server.
package inventory

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Inventory is a cluster at one moment.
type Inventory struct {
	Nodes      []*corev1.Node
	Topologies map[string]*kai.Topology
	// Zones are the NUMA zones of the nodes.
	Zones     *zones.Catalogue
	PodGroups []*scheduling.PodGroup
	Pods      []*corev1.Pod
	// Placement is what the scheduler is configured for: for gangs that do not say which domains they would rather
	// have.
	Placement packing.Placement
	// Workloads are the objects that gangs are made for, as far as they are known: see WorkloadKinds.
	Workloads []*unstructured.Unstructured
	// Events are those of gangs and pods, as far as they were read.
	Events []*corev1.Event
	// Written has the manifests of those pods that came from one, to be printed again.
	Written map[*corev1.Pod]*unstructured.Unstructured
}

// WorkloadKinds are the kinds that may stand above a PodGroup, the outermost first.
var WorkloadKinds = []schema.GroupKind{
	{Group: "nvidia.com", Kind: "DynamoGraphDeployment"},
	{Group: "grove.io", Kind: "PodCliqueSet"},
	{Group: "scheduler.grove.io", Kind: "PodGang"},
}

func isWorkload(kind schema.GroupKind) bool {
	return slices.Contains(WorkloadKinds, kind)
}

// New returns an empty inventory.
func New() *Inventory {
	return &Inventory{
		Topologies: map[string]*kai.Topology{}, Written: map[*corev1.Pod]*unstructured.Unstructured{},
		Zones: &zones.Catalogue{},
	}
}

// Join adds the gangs of native groups, after everything else, and makes pods their members.
func (in *Inventory) Join(native *nativegroups.Forest) {
	roots := native.Roots()
	if len(roots) == 0 {
		return
	}
	topologies := slices.SortedFunc(maps.Values(in.Topologies), func(a, b *kai.Topology) int {
		return strings.Compare(a.Name, b.Name)
	})
	with := func(key string) []string { return nativegroups.With(topologies, key) }
	for _, root := range roots {
		in.PodGroups = append(in.PodGroups, native.Gang(root, with))
	}
	for i, pod := range in.Pods {
		joined := native.Join(pod)
		in.Pods[i] = joined
		if written, has := in.Written[pod]; has && joined != pod {
			delete(in.Written, pod)
			in.Written[joined] = written
		}
	}
}

// Levels says which Topologies exist, and their levels from the broadest.
func (in *Inventory) Levels(topology string) (podgrouptree.Hierarchy, bool) {
	found, ok := in.Topologies[topology]
	if !ok {
		return nil, false
	}
	return podgrouptree.HierarchyOf(found), true
}

// LevelKeys returns the node labels that distinguish the levels of a Topology, broadest first; none if it does not
// exist.
func (in *Inventory) LevelKeys(topology string) []string {
	levels, _ := in.Levels(topology)
	return levels.NodeLabels()
}

// Members returns the pods of each gang.
func (in *Inventory) Members() map[gang.Key][]*corev1.Pod {
	members := map[gang.Key][]*corev1.Pod{}
	for _, pod := range in.Pods {
		if key, ok := gang.KeyOf(pod); ok {
			members[key] = append(members[key], pod)
		}
	}
	return members
}

// PodGroup returns the PodGroup of a gang, or an error that apierrors.IsNotFound knows.
func (in *Inventory) PodGroup(key gang.Key) (*scheduling.PodGroup, error) {
	for _, podGroup := range in.PodGroups {
		if gang.KeyOfPodGroup(podGroup) == key {
			return podGroup, nil
		}
	}
	return nil, apierrors.NewNotFound(scheduling.Resource("podgroups"), key.Name)
}

// Has reports whether the inventory has the PodGroup of a gang.
func (in *Inventory) Has(key gang.Key) bool {
	_, err := in.PodGroup(key)
	return err == nil
}

// Standing returns the pods that use a node.
func Standing(pods []*corev1.Pod) []*corev1.Pod {
	var result []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && !podutil.IsPodTerminal(pod) {
			result = append(result, pod)
		}
	}
	return result
}

// OnNodes returns the pods that use a node, by its name.
func (in *Inventory) OnNodes() map[string][]*corev1.Pod {
	on := map[string][]*corev1.Pod{}
	for _, pod := range Standing(in.Pods) {
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	return on
}
