package certificate

import (
	"errors"
	"fmt"
	"reflect"
)

// MaxSteps bounds the work of Verify: a node or group looked at, or a set of
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
	m, err := newModel(in)
	if err != nil {
		return nil, fmt.Errorf("the input is wrong: %w", err)
	}
	v := &verifier{
		model: m, proof: proof, limit: MaxSteps, parts: map[regionIn]region{}, takers: make([]region, len(in.Kinds)),
		pods: unit(in), scales: map[*Measure]*scale{}, alive: map[regionOf]bool{}, heaviest: map[string]int64{},
	}
	defer endSpent(&err)
	holds, err := v.any(v.start(), atStart, 0, proof.Start)
	if err != nil {
		return nil, err
	}
	if !holds {
		return nil, ErrNotProved
	}
	return v.completed(), nil
}

// verifier carries out proofs.
type verifier struct {
	*model
	proof *Proof
	// steps are those taken, of limit.
	steps, limit int
	// What was worked out before.
	parts    map[regionIn]region
	pods     *scale
	scales   map[*Measure]*scale
	takers   []region
	alive    map[regionOf]bool
	heaviest map[string]int64
	alikes   []int
	// log has what held so far; what turned out not to matter is taken back.
	log []entry
}

// entry is a rule that held, or a reference to one.
type entry struct {
	// rule is -1 for a reference.
	rule    int
	figures figures
	use     use
	// group is one that a rule set aside.
	group string
}

// figures are what is stated of a rule: for several domains those of the nearest
// miss.
type figures struct {
	first, second int64
	place         string
}
