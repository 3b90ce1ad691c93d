package eligibility

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// kind is what pods have in common that ask for the same of a node, whatever is on the nodes. It is never changed.
type kind struct {
	key string
	// filter is equal for pods that differ in nothing but what they request.
	filter string
	// requests are those without host ports.
	requests packing.Resources
	// hosts are the names of the hosts that its selectors leave; nil if they leave others than those they name.
	hosts []string
	// labels are the keys of the node labels that its selectors read.
	labels []string
	// byZones is the kind where kubelets reject pods by NUMA zone; nil for pods that ask for nothing of zones. It alone
	// has a demand.
	byZones *kind
	demand  *zones.Demand
}

// countedBy is the kind for which packing counts how many pods with a demand the zones take.
func (k *kind) countedBy(demand *zones.Demand) *kind {
	zoned, text := *k, " with "+demand.String()
	zoned.key, zoned.filter, zoned.demand = k.key+text, k.filter+text, demand
	zoned.requests = maps.Clone(k.requests)
	zoned.requests[ZoneResource(demand)] = 1
	return &zoned
}

// maxKnownPods bounds half of what kinds remembers: that of a few large gangs.
const maxKnownPods = 8192

// kinds remembers the kinds of pods: a gang that waits is decided again and again, and reading a pod takes longer than
// placing it. What was not asked for in a while is forgotten.
type kinds struct {
	resources     *kubeframework.Resources
	recent, older pods
	// last is the last pod that was read, and lastKind its kind.
	last     *corev1.Pod
	lastKind *kind
}

// pods are the kinds of known pods, and kinds by key. A pod is known as the object that was read: a copy with the same
// UID and version may ask for something else, such as the node on which a seat is held. Pod objects are never
// changed, and may be garbage collected.
type pods struct {
	known map[weak.Pointer[corev1.Pod]]*kind
	kinds map[string]*kind
}

// of returns the kind of a pod.
func (k *kinds) of(pod *corev1.Pod) (*kind, error) {
	for _, pods := range []*pods{&k.recent, &k.older} {
		if known, ok := pods.known[weak.Make(pod)]; ok {
			if pods == &k.older {
				k.remember(pod, known)
			}
			return known, nil
		}
	}
	if k.last != nil && twins(k.last, pod) {
		return k.remember(pod, k.lastKind), nil
	}
	read, err := k.read(pod)
	if err != nil {
		return nil, err
	}
	k.last, k.lastKind = pod, k.remember(pod, read)
	return k.lastKind, nil
}

// twins reports whether two pods are of one kind: those of one leaf of a gang are, and to read a pod takes ten times as
// long as to compare it. Others may be, too.
func twins(a, b *corev1.Pod) bool {
	one, other := &a.Spec, &b.Spec
	return a.Namespace == b.Namespace && kubeframework.Alike(a, b) &&
		maps.Equal(one.NodeSelector, other.NodeSelector) && reflect.DeepEqual(one.Affinity, other.Affinity) &&
		slices.EqualFunc(one.Tolerations, other.Tolerations, sameToleration) &&
		reflect.DeepEqual(one.TopologySpreadConstraints, other.TopologySpreadConstraints) &&
		reflect.DeepEqual(attachable(one.Volumes), attachable(other.Volumes)) && ptr.Equal(one.OS, other.OS) &&
		one.HostNetwork == other.HostNetwork && ptr.Equal(one.HostUsers, other.HostUsers) &&
		labelledAlike(a, b, OwnRules(a)) // Their rules are the same.
}

// labelledAlike reports whether two pods have the same labels with the given keys.
func labelledAlike(a, b *corev1.Pod, keys sets.Set[string]) bool {
	for key := range keys {
		value, labelled := a.Labels[key]
		if other, too := b.Labels[key]; other != value || too != labelled {
			return false
		}
	}
	return true
}

func sameToleration(a, b corev1.Toleration) bool {
	if !ptr.Equal(a.TolerationSeconds, b.TolerationSeconds) {
		return false
	}
	a.TolerationSeconds, b.TolerationSeconds = nil, nil
	return a == b
}

func (k *kinds) read(pod *corev1.Pod) (*kind, error) {
	requests, err := k.resources.Requests(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the requests of pod %s: %w", pod.Name, err)
	}
	filter, err := traitsOf(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the shape of pod %s: %w", pod.Name, err)
	}
	asked, err := json.Marshal(requests)
	if err != nil {
		return nil, fmt.Errorf("reading the shape of pod %s: %w", pod.Name, err)
	}
	read := &kind{
		key: filter + " requesting " + string(asked), filter: filter, requests: requests, hosts: hosts(&pod.Spec),
		labels: selecting(&pod.Spec),
	}
	if demand := zones.DemandOf(pod); demand != nil {
		read.byZones = read.countedBy(demand)
		read.key = read.byZones.key + " anywhere"
	}
	return read, nil
}

// remember returns the kind that is kept for the pod: equal to the one given, and shared.
func (k *kinds) remember(pod *corev1.Pod, read *kind) *kind {
	if len(k.recent.known) >= maxKnownPods || len(k.recent.kinds) >= maxKnownPods {
		k.older, k.recent = k.recent, k.older // Maps that have grown take new pods faster.
		clear(k.recent.known)
		clear(k.recent.kinds)
	}
	if k.recent.known == nil {
		k.recent = pods{known: map[weak.Pointer[corev1.Pod]]*kind{}, kinds: map[string]*kind{}}
	}
	if shared := k.recent.kinds[read.key]; shared != nil {
		read = shared
	} else {
		k.recent.kinds[read.key] = read
	}
	k.recent.known[weak.Make(pod)] = read
	return read
}
