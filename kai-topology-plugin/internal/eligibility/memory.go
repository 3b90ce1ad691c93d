package eligibility

import (
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// maxRemembered is how many shapes keep their verdicts beyond a decision: as many as packing keeps counts of.
const maxRemembered = 64

// Memory keeps verdicts about nodes from one decision to the next, where nothing but a change of the Node object can
// overturn them. It has one user at a time.
type Memory struct {
	filters    kubeframework.Filters
	changeable []string
	decisions  int
	lasting    map[string]*verdicts
	kinds      kinds
	// selects is set if the profile itself selects nodes by labels, which nobody tells; nil before that is known.
	selects *bool
}

// verdicts are those about one shape, by the place of the node.
type verdicts struct {
	byPlace []verdict
	used    int
}

type verdict struct {
	// version is the one of the node that was looked at; 0 if none was.
	version int
	reason  string
}

// NewMemory returns an empty memory for a profile. Without filters nothing may be asked of it.
func NewMemory(filters kubeframework.Filters) *Memory {
	memory := &Memory{filters: filters, lasting: map[string]*verdicts{}}
	if filters != nil {
		memory.changeable = kubeframework.Changeable(filters)
	}
	return memory
}

// Filters returns what NewMemory was given.
func (m *Memory) Filters() kubeframework.Filters { return m.filters }

// of returns the lasting verdicts about a shape.
func (m *Memory) of(key string) *verdicts {
	known := m.lasting[key]
	if known == nil {
		m.makeRoom()
		known = &verdicts{}
		m.lasting[key] = known
	}
	known.used = m.decisions
	return known
}

func (m *Memory) makeRoom() {
	if len(m.lasting) < maxRemembered {
		return
	}
	oldest, since := "", m.decisions
	for key, known := range m.lasting {
		if known.used < since {
			oldest, since = key, known.used
		}
	}
	delete(m.lasting, oldest)
}

// at returns the verdict about the node at a place, to be read or filled in.
func (v *verdicts) at(place int) *verdict {
	if missing := place + 1 - len(v.byPlace); missing > 0 {
		v.byPlace = append(v.byPlace, make([]verdict, missing)...)
	}
	return &v.byPlace[place]
}
