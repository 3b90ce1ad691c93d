package solve

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
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
	// reshaped are keys of shapes that mean nothing to others.
	reshaped []string
}

// engine has the packing engine decide a request, without regard to rules that pods of the gang have about each other.
func engine(ctx context.Context, request Request) (*Answer, error) {
	session, err := Open(ctx, request)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Decide()
}

// Open translates a request. The caller closes the session.
func Open(ctx context.Context, request Request) (*Session, error) {
	levels := map[string][]string{}
	var pending []*corev1.Pod
	for _, asking := range append([]*gang.Gang{request.Gang}, request.with...) {
		for _, name := range asking.Topologies() {
			levels[name] = nodes.Levels(request.Topologies[name])
		}
		pending = append(pending, asking.Pending...)
	}
	trial, err := request.View.Begin(request.Nodes, levels, pending)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	session := &Session{Trial: trial, request: request}
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
	translated, err := Translate(request.Gang, request.with, func(pod *corev1.Pod) (packing.Shape, error) {
		shape, err := s.Trial.Shape(ctx, pod)
		if err != nil || request.reshape == nil {
			return shape, err
		}
		shape = request.reshape(pod, shape)
		s.reshaped = append(s.reshaped, shape.Key)
		return shape, nil
	})
	if err != nil {
		return fmt.Errorf("reading the gang: %w", err)
	}
	s.Packing = translated
	return nil
}

// Decide answers the request on the trial as it is now.
func (s *Session) Decide() (*Answer, error) {
	decided := s.Trial.Cluster.Decide(s.Packing, packing.Options{
		Budget: s.request.Budget, Placement: s.request.placement(),
		Terse: s.request.Terse, Unproved: s.request.Unproved,
	})
	if err := s.Trial.Err(); err != nil {
		return nil, fmt.Errorf("looking at nodes: %w", err)
	}
	answer := answerOf(&decided)
	if len(s.request.with) == 0 {
		answer.Groups = groupsOf(&decided, s.request.Gang)
	}
	s.order(answer.Nodes)
	answer.Basis, answer.Respected = s.Trial.Basis(), s.request.Reserved
	return answer, nil
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
