package plugin

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/bypass"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// heldQuestion asks whether a domain would hold a gang if nothing stood there. Generation is that of the PodGroup, terrain
// what the nodes were like.
type heldQuestion struct {
	gang       gang.Key
	domain     string
	generation int64
	terrain    int
}

// maxHeldAnswers is how many answers are remembered.
const maxHeldAnswers = 1024

// heldAnswers remembers answers.
type heldAnswers struct {
	mu      sync.Mutex
	answers map[heldQuestion]bool
}

func (h *heldAnswers) get(asked heldQuestion) (holds, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	holds, known = h.answers[asked]
	return holds, known
}

func (h *heldAnswers) set(asked heldQuestion, holds bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answers == nil || len(h.answers) >= maxHeldAnswers {
		h.answers = map[heldQuestion]bool{}
	}
	h.answers[asked] = holds
}

// tryVacated decides the gang of a closure with the domain empty, and nowhere else to go.
func (p *Plugin) tryVacated(ctx context.Context, podGroup *scheduling.PodGroup, closure bypass.Closure, nodes []fwk.NodeInfo) (bool, error) {
	assembled, held, err := p.assemble(podGroup)
	if err != nil || held != nil {
		return false, err
	}
	topologies, err := p.topologiesOf(assembled)
	if err != nil {
		return false, err
	}
	if err := p.meetCompany(assembled); err != nil {
		return false, err
	}
	session, err := decision.Open(ctx, decision.Question{Gang: assembled, Topologies: topologies, View: p.view, Nodes: nodes})
	if err != nil {
		return false, err
	}
	defer session.Close()
	var inside string
	for _, node := range nodes {
		if closure.Keeps(node.Node().Labels) {
			inside = node.Node().Name
			session.Trial.Vacate(inside)
		}
	}
	if levels := closure.Ground.Levels; len(levels) > 0 {
		session.Packing.Root.Follow = append(session.Packing.Root.Follow, packing.Anchor{
			Topology: topologyOf(assembled), Level: levels[len(levels)-1], Nodes: []string{inside},
		})
	}
	answer, err := session.Decide()
	return err == nil && answer.Verdict == scheduling.ReasonPlaced, err
}

// topologyOf returns the Topology of the levels that groundOf returns.
func topologyOf(assembled *gang.Gang) string {
	if root := assembled.Tree.Root.Constraint; root.RequiredTopologyLevel != "" || assembled.Company == nil {
		return root.Topology
	}
	return assembled.Company.Constraint.Topology
}

func sameTaint(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }

func equalQuantities(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

// terrainHandler counts changes of nodes that can make a domain fit for a gang, or unfit.
func (p *Plugin) terrainHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { p.room.Add(1) },
		UpdateFunc: func(before, after any) {
			old, node := before.(*corev1.Node), after.(*corev1.Node)
			same := maps.Equal(old.Labels, node.Labels) && old.Spec.Unschedulable == node.Spec.Unschedulable &&
				slices.EqualFunc(old.Spec.Taints, node.Spec.Taints, sameTaint) &&
				maps.EqualFunc(old.Status.Allocatable, node.Status.Allocatable, equalQuantities)
			if !same {
				p.room.Add(1)
			}
		},
		DeleteFunc: func(any) { p.room.Add(1) },
	}
}
