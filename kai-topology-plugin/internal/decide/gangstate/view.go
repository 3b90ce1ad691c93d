package gangstate

import (
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// View is what is known of a gang at a moment.
type View struct {
	// Begun is set if pods of it stand, but not all that it needs.
	Begun bool
	// Waits is set if it was tried and does not fit, Preempts if others leave for it.
	Waits, Preempts bool
	// Undecided is set if it has not had its turn: it has no answer, and could have one.
	Undecided bool
	// Last is the last answer for it; nil if there is none.
	Last *solve.Answer
	// AskedBy is the pod that Last was found for; empty if it was found without one.
	AskedBy types.UID

	version Version
	holds   bool
}

// View returns what is known of a gang. The queue asks for it with every comparison of pods.
func (s *State) View(key gang.Key) View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	view := View{
		Begun: r.begun, Waits: r.overtaken != nil, Preempts: r.preempting != nil,
		Undecided: s.opened && r.last == nil && len(r.gated) == 0,
	}
	if r.last == nil {
		return view
	}
	view.Last, view.version, view.holds = r.last.given, r.last.version, r.holds(r.last.version)
	if r.last.asked != nil {
		view.AskedBy = r.last.asked.UID
	}
	return view
}

// Current returns the last answer if it is one for this version of the gang and gave no pod a node.
func (v View) Current(version Version) *solve.Answer {
	if v.holds && v.version == version {
		return v.Last
	}
	return nil
}
