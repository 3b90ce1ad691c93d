package certificate

import (
	"errors"
	"fmt"
	"reflect"
)

// MaxSteps bounds the work of Read, Check and Verify: a node or group looked at, or a set of
// items tried, is a step.
const MaxSteps = 1 << 24

// ErrNotProved is wrapped by the errors of Verify about a proof that proves
// nothing: a rule does not apply, or a figure is not that of the input.
var ErrNotProved = errors.New("the certificate does not prove that no placement exists")

// Verify returns nil if the proof shows that no placement satisfies the gang. The
// error names what the input does not have, or wraps ErrNotProved.
func Verify(in *Input, proof *Proof) error {
	completed, err := Complete(in, proof)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(proof, completed) {
		return fmt.Errorf("%w: its figures are not those of the input", ErrNotProved)
	}
	return nil
}

// Complete returns the proof with the figures that Verify finds, and without
// alternatives of no use. The errors are those of Verify.
func Complete(in *Input, proof *Proof) (completed *Proof, err error) {
	m, err := read(in, proof.Unfiltered)
	if err != nil {
		return nil, fmt.Errorf("the input is wrong: %w", err)
	}
	completed, _, err = m.Complete(proof, MaxSteps)
	return completed, err
}

// Complete is the function Complete within so many steps; it also returns how many
// it took. Whether the proof is Unfiltered is the model's to say.
func (m *Model) Complete(proof *Proof, limit int) (completed *Proof, steps int, err error) {
	v := &verifier{Model: m, proof: proof, scales: map[*Measure]*scale{}, asked: numbering{},
		needs: map[needOf]leastWeight{}}
	m.steps, m.limit = 0, min(limit, MaxSteps)
	defer func() { steps = m.steps }()
	defer endSpent(&err, ErrNotProved)
	if m.first == nil {
		m.start()
	}
	holds, err := v.any(&state{}, atStart, 0, proof.Start)
	if err != nil {
		return nil, 0, err
	}
	if !holds {
		return nil, 0, ErrNotProved
	}
	return v.completed(), 0, nil
}

// verifier carries out one proof.
type verifier struct {
	*Model
	proof  *Proof
	scales map[*Measure]*scale
	needs  map[needOf]leastWeight
	// asked numbers the pods that are weighed, and heaviest is what nodes take of them.
	asked    numbering
	heaviest map[offerOf]int64
	items    []item
	// log has what held so far; what turned out not to matter is taken back.
	log []entry
}

// memory is what was worked out before, whatever the proof.
type memory struct {
	// steps counts the steps that this proof has taken; limit is the most.
	steps, limit int
	// first are the regions of groups at first, runs their children, and sums the pods
	// below them. class is shared by groups that differ in their names only.
	first      []*region
	runs       [][]run
	class      []int
	sums       map[int][]placed
	everywhere *region
	parts      map[regionIn]*region
	// takers are by kind, fitting by what a kind asks for.
	takers  []set
	fitting map[string]set
	alive   map[regionOf]bool
	// tops are what is free at most on any node; nil until asked for.
	tops []int64
	// opened are the nodes that filters leave to any pod; nil until asked for.
	opened set
	// rows number the nodes by what is free on them from 1 on.
	rows       []int32
	rowNumbers numbering
}

func newMemory(kinds, nodes int) memory {
	m := memory{
		everywhere: &region{nodes: make([]int32, nodes)}, parts: map[regionIn]*region{}, takers: make([]set, kinds),
		fitting: map[string]set{}, sums: map[int][]placed{}, alive: map[regionOf]bool{}, rowNumbers: numbering{},
	}
	for i := range m.everywhere.nodes {
		m.everywhere.nodes[i] = int32(i)
	}
	return m
}

// entry is a rule that held, or a reference to one.
type entry struct {
	// rule is -1 for a reference.
	rule    int
	figures *figures
	use     use
	// group is one that a rule set aside.
	group string
}

// figures are what is stated of a rule: for several domains those of the nearest
// miss.
type figures struct {
	first, second int64
	// group is the one that a Deficit is about, where the place of a Cut, and barred how many
	// nodes there no pod may use.
	group    string
	where    *state
	barred   int
	shortage Shortage
}
