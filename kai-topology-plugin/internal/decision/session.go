package decision

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/translation"
	"packtree.dev/shared/packing"
)

// Session is a question on the table. It may be decided several times, between changes of its Trial: what if this pod
// were gone, or that node excluded? Nobody else asks the same view until it is closed.
type Session struct {
	// Trial is the cluster that is decided on.
	Trial *clusterview.Trial
	// Packing is the gang in the words of the engine.
	Packing *packing.Gang

	gang     *gang.Gang
	with     []*gang.Gang
	together bool
	options  packing.Options
	reserved clusterview.Reserved
	// reshaped are keys of shapes that mean nothing to others.
	reshaped []string
}

// Open puts a question on the table. The caller closes the session.
func Open(ctx context.Context, q Question) (*Session, error) {
	levels := map[string][]string{}
	var pending []*corev1.Pod
	for _, asking := range append([]*gang.Gang{q.Gang}, q.With...) {
		for _, name := range asking.Topologies() {
			levels[name] = translation.LevelsOf(q.Topologies[name])
		}
		pending = append(pending, asking.Pending...)
	}
	trial, err := q.View.Begin(q.Nodes, levels, pending)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	session := &Session{Trial: trial, gang: q.Gang, with: q.With, together: len(q.With) > 0, reserved: q.Reserved}
	session.options = packing.Options{
		Budget: q.Budget, Placement: q.placement(), Terse: q.Terse, Unproved: q.Unproved,
	}
	if err := session.prepare(ctx, q); err != nil {
		trial.End()
		return nil, err
	}
	return session, nil
}

func (s *Session) prepare(ctx context.Context, q Question) error {
	s.Trial.Remove(q.Absent)
	if err := s.Trial.Reserve(q.Reserved); err != nil {
		return fmt.Errorf("reserving room: %w", err)
	}
	for resource, amount := range q.Everywhere {
		s.Trial.Cluster.OfferEverywhere(resource, amount)
	}
	question, err := translation.Together(q.Gang, q.With, func(pod *corev1.Pod) (packing.Shape, error) {
		shape, err := s.Trial.Shape(ctx, pod)
		if err != nil || q.Reshape == nil {
			return shape, err
		}
		shape = q.Reshape(pod, shape)
		s.reshaped = append(s.reshaped, shape.Key)
		return shape, nil
	})
	if err != nil {
		return fmt.Errorf("reading the gang: %w", err)
	}
	s.Packing = question
	return nil
}

// Decide answers the question on the trial as it is now.
func (s *Session) Decide() (*Answer, error) {
	decided := s.Trial.Cluster.Decide(s.Packing, s.options)
	if err := s.Trial.Err(); err != nil {
		return nil, fmt.Errorf("looking at nodes: %w", err)
	}
	answer := answerOf(&decided, s.gang, s.together)
	s.order(answer.Nodes)
	answer.Basis, answer.Respected = s.Trial.Basis(), s.reserved
	return answer, nil
}

// order has alike pods take their nodes in the order of their indices.
func (s *Session) order(nodes map[string]string) {
	if len(nodes) == 0 {
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
	if !s.together {
		ordered(&s.Packing.Root, s.gang, nodes, path)
		return
	}
	for i, each := range append([]*gang.Gang{s.gang}, s.with...) {
		ordered(&s.Packing.Root.Children[i], each, nodes, path)
	}
}

// Close ends the session.
func (s *Session) Close() {
	for _, key := range s.reshaped {
		s.Trial.Cluster.Forget(key)
	}
	s.Trial.End()
}
