package gangstate

import "packtree.dev/kai-topology-plugin/internal/gang"

// Repairability is what was foretold of a gang that has all that it needs.
type Repairability struct {
	// LostWith is the failure of the narrowest level that would lose it, in words; empty if there is none.
	LostWith string
	// Node is set if that failure is of a single node.
	Node bool
}

// Foretold records what the failures of nodes and domains would do to gangs. One that a round does not have lacks pods.
// The statuses to write are those of gangs of which something else is said than before.
func (s *State) Foretold(round map[gang.Key]Repairability) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.foretold
	s.foretold = true
	for key, r := range s.gangs {
		before := r.repairability
		r.repairability = nil
		if found, ok := round[key]; ok && r.podGroup != nil {
			r.repairability, r.foretoldOf = &found, r.podGroup.UID
		}
		// What the first round says of none may still stand in its status, as an earlier process wrote it.
		if first || (before == nil) != (r.repairability == nil) || before != nil && *before != *r.repairability {
			effects.writeStatus(key)
		}
	}
	return effects
}

// Repairability returns what was foretold of a gang last, nil if that was nothing, and whether anything has been
// foretold at all.
func (s *State) Repairability(key gang.Key) (last *Repairability, begun bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	if r.podGroup == nil || r.podGroup.UID != r.foretoldOf {
		return nil, s.foretold // It was said of another gang of that name.
	}
	return r.repairability, s.foretold
}
