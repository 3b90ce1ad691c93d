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
	// holds is set if Last gave no pod a node and is true still, places if it gave nodes.
	holds, places bool
}

// View returns what is known of a gang. The queue asks for it with every comparison of pods.
func (s *State) View(key gang.Key) View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	view := View{
		Begun: r.begun, Waits: r.overtaken != nil, Preempts: r.preempting != nil,
		Undecided: r.last == nil && len(r.gated) == 0,
	}
	if r.last == nil {
		return view
	}
	view.Last, view.version = r.last.given, r.last.version
	view.holds, view.places = r.holds(r.last.version), r.last.places
	if r.last.asked != nil {
		view.AskedBy = r.last.asked.UID
	}
	return view
}

// Asks reports whether a pod that waits is to try again when something happens that could help: of a gang that has no
// place only the pod does which the last answer was found for. If there is a place now, the others are called; so that
// a gang of a thousand pods that waits is one pod that wakes up.
func (v View) Asks(waiting types.UID) bool {
	return v.Last == nil || v.places || v.AskedBy == "" || v.AskedBy == waiting
}

// LooksAtPods reports whether a gang may get another answer because of pods that come or change: the last one rests on
// more than nodes and what is used of them.
func (v View) LooksAtPods() bool { return v.Last == nil || !v.Last.Basis.Lasts() }

// Current returns the last answer if it is one for this version of the gang and gave no pod a node.
func (v View) Current(version Version) *solve.Answer {
	if v.holds && v.version == version {
		return v.Last
	}
	return nil
}
