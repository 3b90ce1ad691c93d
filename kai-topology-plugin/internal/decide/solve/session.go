package solve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Session is a request translated for the engine. Its Trial may be changed: what if this pod were gone, or that node
// excluded? Until it is closed its view answers no other request.
type Session struct {
	// Trial is the cluster that is decided on.
	Trial *clusterview.Trial
	// Packing is the gang as the engine sees it.
	Packing *packing.Gang

	request Request
	shared  *shared
	// demands are what the pods ask of zones, if any node looks at that.
	demands []*zones.Demand
	// reshaped are keys of shapes that mean nothing to others.
	reshaped []string
}

// engine has the packing engine decide a request, without regard to rules that pods of the gang have about each other.
func engine(ctx context.Context, request Request) (answer *Answer, err error) {
	steps := 0
	for _, way := range request.zonings() {
		session, err := open(ctx, request, way)
		if err != nil {
			return nil, err
		}
		answer, err = session.Decide()
		session.Close()
		if err != nil {
			return nil, err
		}
		steps += answer.Steps
		answer.Steps = steps
		placed := answer.Verdict == scheduling.ReasonPlaced
		if placed && (!way.prefer || len(answer.Nodes) == len(request.Gang.Pending)) {
			break
		}
	}
	return answer, nil
}

// gangs are the gangs that are decided together.
func (r Request) gangs() []*gang.Gang { return append([]*gang.Gang{r.Gang}, r.with...) }

// Open translates a request, in which the pods that a group needs share a NUMA zone if it has to have one. The caller
// closes the session.
func Open(ctx context.Context, request Request) (*Session, error) {
	request.View.Follow(request.Nodes)
	return open(ctx, request, zoning{least: true})
}

// OpenPlaced is Open for a finished placement. It returns the placement as the engine would give it, in which one pod
// stands for all that share a zone, and what is wrong with these.
func OpenPlaced(
	ctx context.Context, request Request, nodes map[string]string,
) (session *Session, given map[string]string, faults []error, err error) {
	request.View.Follow(request.Nodes)
	if session, err = open(ctx, request, zoning{placed: nodes}); err != nil {
		return nil, nil, nil, err
	}
	given = maps.Clone(nodes)
	for _, each := range session.shared.bundles {
		faults = append(faults, each.collapse(given)...)
	}
	if why := session.zonesRefuse(given); why != "" && len(faults) == 0 {
		faults = append(faults, errors.New(why))
	}
	return session, given, faults, nil
}

// ZoneRoom is how many pods fit on a node by its zones, by the resource that stands for what they ask for, with others
// that will stand there. It is counted anew.
func (s *Session) ZoneRoom(node fwk.NodeInfo, others []*corev1.Pod) packing.Resources {
	room := packing.Resources{}
	if len(s.demands) == 0 {
		return room
	}
	usage := eligibility.UsageOn(s.request.View.Zones(), node, others...)
	for _, demand := range s.demands {
		room[eligibility.ZoneResource(demand)] = clusterview.ZoneRoom(usage, demand)
	}
	return room
}

// open is Open for a view that follows the nodes.
func open(ctx context.Context, request Request, way zoning) (*Session, error) {
	levels := map[string][]string{}
	var pending []*corev1.Pod
	for _, asking := range request.gangs() {
		for _, name := range asking.Topologies() {
			levels[name] = nodes.Levels(request.Topologies[name])
		}
		pending = append(pending, asking.Pending...)
	}
	together := request.shared(way)
	var demands []*zones.Demand
	if request.View.Zones().Enforcing() > 0 {
		demands = together.demands(request)
	}
	trial, err := request.View.Begin(levels, pending, demands...)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	session := &Session{Trial: trial, request: request, shared: together, demands: demands}
	if err := session.prepare(ctx); err != nil {
		trial.End()
		return nil, err
	}
	return session, nil
}

func (s *Session) prepare(ctx context.Context) error {
	request := &s.request
	s.Trial.Remove(request.Absent)
	if err := s.Trial.Reserve(request.Reserved); err != nil {
		return fmt.Errorf("reserving room: %w", err)
	}
	for resource, amount := range request.Everywhere {
		s.Trial.Cluster.OfferEverywhere(resource, amount)
	}
	shapeOf := func(pod *corev1.Pod) (packing.Shape, error) {
		shape, err := s.Trial.Shape(ctx, pod)
		if err != nil || request.reshape == nil {
			return shape, err
		}
		shape = request.reshape(pod, shape)
		s.reshaped = append(s.reshaped, shape.Key)
		return shape, nil
	}
	catalogue := request.View.Zones()
	translated, err := s.shared.translate(request.Gang, request.with,
		func(pod *corev1.Pod) (shape packing.Shape, asks bool, err error) {
			return s.shared.shape(catalogue, pod, shapeOf)
		})
	if err != nil {
		return fmt.Errorf("reading the gang: %w", err)
	}
	s.Packing = translated
	return nil
}

// Decide answers the request on the trial as it is now. Where pods of several demands share a node, the engine counts
// each demand by itself: a plan that a kubelet would not admit is planned again, with fewer pods of one of them there.
func (s *Session) Decide() (*Answer, error) {
	plans, steps := 0, 0
	return s.decideAgain(&plans, &steps)
}

func (s *Session) decideAgain(plans, steps *int) (*Answer, error) {
	*plans++
	decided, err := s.decide()
	if err != nil {
		return nil, err
	}
	*steps += decided.Steps
	answer := answerOf(decided)
	found, order := s.zoneClash(answer.Nodes)
	if found == nil {
		answer = s.complete(answer, decided, *steps, *plans > 1)
		answer.Order = inOrder(order, answer.Nodes)
		return answer, nil
	}
	for _, kind := range found.planned {
		if *plans >= maxPlans {
			break
		}
		mark := s.Trial.Cluster.Checkpoint()
		s.Trial.Limit(kind[0].demand, found.node, int64(len(kind)-1))
		answer, err := s.decideAgain(plans, steps)
		s.Trial.Cluster.Rollback(mark)
		if err != nil || answer.Verdict == scheduling.ReasonPlaced {
			return answer, err
		}
	}
	answer = s.zonesDiffer()
	answer.Steps = *steps
	return answer, nil
}

// inOrder names all placed pods, the pods of first before the others; nil if first is empty.
func inOrder(first []string, nodes map[string]string) []string {
	if len(first) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !slices.Contains(first, name) {
			first = append(first, name)
		}
	}
	return first
}

func (s *Session) decide() (*packing.Decision, error) {
	decided := s.Trial.Cluster.Decide(s.Packing, packing.Options{
		Budget: s.request.Budget, Placement: s.request.placement(),
		Terse: s.request.Terse, Unproved: s.request.Unproved,
	})
	if err := s.Trial.Err(); err != nil {
		return nil, fmt.Errorf("looking at nodes: %w", err)
	}
	return &decided, nil
}

// complete says in an answer what the engine does not.
func (s *Session) complete(answer *Answer, decided *packing.Decision, steps int, limited bool) *Answer {
	if limited && answer.Verdict != scheduling.ReasonPlaced {
		answer = s.zonesDiffer()
	}
	answer.Steps = steps
	s.order(answer.Nodes)
	s.shared.spell(answer.Nodes)
	s.explainZones(answer)
	if len(s.request.with) == 0 {
		answer.Groups = groupsOf(decided, s.request.Gang)
		s.recount(answer)
		s.addZones(answer.Groups, s.request.Gang, answer.Nodes)
	}
	answer.Basis, answer.Respected = s.Trial.Basis(), s.request.Reserved
	return answer
}

// order has alike pods take their nodes in the order of their indices.
func (s *Session) order(placed map[string]string) {
	if len(placed) == 0 {
		return
	}
	known := map[[2]string][]string{}
	path := func(topology, node string) []string {
		at := [2]string{topology, node}
		if known[at] == nil {
			known[at] = append(slices.Clip([]string(s.Trial.Cluster.PathOf(topology, node))), node)
		}
		return known[at]
	}
	if len(s.request.with) == 0 {
		ordered(&s.Packing.Root, s.request.Gang, placed, path)
		return
	}
	for i, each := range append([]*gang.Gang{s.request.Gang}, s.request.with...) {
		ordered(&s.Packing.Root.Children[i], each, placed, path)
	}
}

// Close ends the session.
func (s *Session) Close() {
	for _, key := range s.reshaped {
		s.Trial.Cluster.Forget(key)
	}
	s.Trial.End()
}
