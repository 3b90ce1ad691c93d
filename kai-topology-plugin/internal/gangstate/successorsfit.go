package gangstate

import (
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/shared/successors"
)

// SuccessorsAnswered records what was decided about the questions of PodGroups. The statuses to write are those of
// gangs of which something else is said than before.
func (s *State) SuccessorsAnswered(answers map[gang.Key]successors.Answer) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, answer := range answers {
		r := s.gangs[key]
		if r == nil || r.podGroup == nil || r.successors == answer {
			continue
		}
		r.successors = answer
		effects.writeStatus(key)
	}
	return effects
}

// SuccessorsAnswer returns the last answer to a question of a gang's PodGroup, the zero value if there was none.
func (s *State) SuccessorsAnswer(key gang.Key) successors.Answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known(key).successors
}
