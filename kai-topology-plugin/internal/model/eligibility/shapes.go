// Package eligibility finds out which nodes the profile's own filters accept for which pods, and what the others
// lack. Pods that the filters cannot tell apart share one answer.
package eligibility

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// Nodes finds the nodes that filters see.
type Nodes interface {
	Find(name string) (node Node, ok bool)
	// OnHost names the nodes of a host, by their label.
	OnHost(host string) []string
	// Repelling is how pods on the nodes keep others away, so that even pods without rules of their own differ.
	Repelling() Repelling
	// Zones are the NUMA zones of the nodes; nil if they are not known.
	Zones() *zones.Catalogue
}

// Node is a node as it is now. Taints is a text that is equal for nodes with the same taints and cordon.
type Node struct {
	Info   fwk.NodeInfo
	Taints string
}

// Shapes answers for the pods of one decision.
type Shapes struct {
	memory *Memory
	nodes  Nodes
	ports  HostPorts
	// zoned is set if a kubelet rejects pods by NUMA zone.
	zoned  bool
	shared kubeframework.ClaimNames
	known  map[string]packing.Shape
	// last is the shape that was given last, and lastKey its key in known.
	last    packing.Shape
	lastKey string
	// passing are the keys of shapes that mean nothing after this decision.
	passing []string
	failed  []error
	labels  sets.Set[string]
}

// Decision returns the shapes of a decision on these nodes, about these pods and the host ports that they ask for.
func (m *Memory) Decision(nodes Nodes, asking []*corev1.Pod, ports HostPorts) *Shapes {
	m.decisions++
	return &Shapes{
		memory: m, nodes: nodes, ports: ports, zoned: nodes.Zones().Enforcing() > 0,
		shared: kubeframework.SharedClaims(asking),
		known:  map[string]packing.Shape{},
		labels: sets.New[string](),
	}
}

// Of returns the shape of a pod: what it requests, and why nodes are excluded for it. A node that only lacks free
// resources or host ports is not excluded: packing sees by itself what is free, and explains it.
func (s *Shapes) Of(ctx context.Context, pod *corev1.Pod) (packing.Shape, error) {
	kind, err := s.memory.kinds.of(pod)
	if err != nil {
		return packing.Shape{}, err
	}
	if kind.byZones != nil && s.zoned {
		kind = kind.byZones
	}
	s.labels.Insert(kind.labels...)
	if s.memory.selects == nil {
		selects := kubeframework.Selects(ctx, s.memory.filters)
		s.memory.selects = &selects
	}
	key, requests, err := s.specify(pod, kind)
	if err != nil {
		return packing.Shape{}, err
	}
	if key == s.lastKey {
		return s.last, nil // Most pods of a leaf are alike, and keys are long.
	}
	shape, ok := s.known[key]
	if !ok {
		if shape, err = s.made(ctx, pod, kind, key, requests); err != nil {
			return packing.Shape{}, fmt.Errorf("running the filters for pod %s: %w", pod.Name, err)
		}
		s.known[key] = shape
	}
	s.last, s.lastKey = shape, key
	return shape, nil
}

// specify adds to a kind what depends on others: what its claims are tied to by now, the host ports that pods of this
// decision must not share, and the labels by which pods on the nodes keep others away.
func (s *Shapes) specify(pod *corev1.Pod, kind *kind) (string, packing.Resources, error) {
	key, requests := kind.key, kind.requests
	if claims := s.memory.claims.Of(pod, s.shared); len(claims) > 0 {
		text, err := json.Marshal(claims)
		if err != nil {
			return "", nil, fmt.Errorf("reading the claims of pod %s: %w", pod.Name, err)
		}
		key += " claiming " + string(text)
	}
	if ports := s.ports.Asked(pod); len(ports) > 0 {
		requests = maps.Clone(requests)
		for _, port := range ports {
			requests[port] = 1
		}
		key += fmt.Sprintf(" with %q", ports)
	}
	if read := labelsOf(pod, s.nodes.Repelling().Labels); len(read) > 0 {
		key += fmt.Sprintf(" labelled %q", read)
	}
	if kind.demand != nil {
		key += s.avoiding(pod)
	}
	return key, requests, nil
}

// avoiding is a text about the nodes with kubelets that have rejected pods of the same owner, "" if there are none.
func (s *Shapes) avoiding(pod *corev1.Pod) string {
	if owner := ZoneOwner(pod); s.nodes.Zones().AvoidsAny(owner) {
		return " of " + owner
	}
	return ""
}

func (s *Shapes) made(
	ctx context.Context, pod *corev1.Pod, kind *kind, key string, requests packing.Resources,
) (packing.Shape, error) {
	verdicts, err := s.memory.prefilter(ctx, pod, s.nodes)
	if err != nil {
		return packing.Shape{}, err
	}
	shape := packing.Shape{Key: key, Filter: kind.filter, Requests: requests, Only: s.only(kind, verdicts)}
	avoiding := ""
	if kind.demand != nil {
		avoiding = s.avoiding(pod)
	}
	if !verdicts.lasting || avoiding != "" {
		shape.Filter = ""
		shape.Key = fmt.Sprintf("%s in decision %d", key, s.memory.decisions)
		s.passing = append(s.passing, shape.Key)
	}
	shape.Excluded = func(name string) string {
		node, ok := s.nodes.Find(name)
		if !ok {
			return ""
		}
		reason, err := verdicts.excluded(ctx, node)
		if err != nil {
			s.failed = append(s.failed, err)
			// What packing makes of this must not outlive the decision either.
			s.passing = append(s.passing, shape.Key)
			return err.Error()
		}
		if reason == "" && kind.demand != nil {
			reason = ZoneObjection(s.nodes.Zones(), kind.demand, ZoneOwner(pod), name)
		}
		return reason
	}
	return shape, nil
}

// only names the nodes that a pod may go to, as far as that is known without looking at each; nil if it cannot.
func (s *Shapes) only(kind *kind, verdicts *filtered) []string {
	switch {
	case verdicts.rejected != nil:
		return []string{}
	case !verdicts.narrowed.AllNodes():
		return verdicts.narrowed.NodeNames.UnsortedList()
	case kind.hosts == nil:
		return nil
	}
	named := []string{}
	for _, host := range kind.hosts {
		named = append(named, s.nodes.OnHost(host)...)
	}
	return named
}

// Err returns what went wrong while nodes were looked at. The decision then means nothing.
func (s *Shapes) Err() error { return errors.Join(s.failed...) }

// Labels returns the keys of the node labels that the selectors of the pods read; false if those of others count too.
func (s *Shapes) Labels() (keys sets.Set[string], all bool) {
	return s.labels, s.memory.selects == nil || !*s.memory.selects
}

// Passing returns the keys of the shapes that mean nothing after this decision.
func (s *Shapes) Passing() []string { return s.passing }

// Memory is what decisions about pods of one profile have in common. Verdicts about nodes are not among it: the
// counts that packing keeps for a shape have them. It has one user at a time.
type Memory struct {
	filters   kubeframework.Filters
	resources *kubeframework.Resources
	claims    *kubeframework.Claims
	// changeable are known once all plugins of the profile are, which is after the memory is made.
	changeable func() []string
	decisions  int
	kinds      kinds
	// selects is set if the profile itself selects nodes by labels, which only a try shows; nil before that is known.
	selects *bool
}

// NewMemory returns an empty memory for a profile. Without filters nothing may be asked of it.
func NewMemory(filters kubeframework.Filters) *Memory {
	resources := kubeframework.NewResources(filters)
	return &Memory{
		filters: filters, resources: resources, claims: kubeframework.NewClaims(resources),
		kinds:      kinds{resources: resources},
		changeable: sync.OnceValue(func() []string { return kubeframework.Changeable(filters) }),
	}
}

// Resources returns which resources count for the pods of the profile.
func (m *Memory) Resources() *kubeframework.Resources { return m.resources }
