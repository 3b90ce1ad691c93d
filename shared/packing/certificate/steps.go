package certificate

import "fmt"

// outOfSteps is what spend panics with, so that every loop ends in time and no
// caller in between has to pass it on. Only Complete recovers it.
type outOfSteps struct{}

// spend counts steps.
func (v *verifier) spend(steps int) {
	if v.steps += steps; v.steps > MaxSteps {
		panic(outOfSteps{})
	}
}

// endSpent turns the end of the steps into an error.
func endSpent(err *error) {
	switch e := recover().(type) {
	case nil:
	case outOfSteps:
		*err = fmt.Errorf("%w within %d steps", ErrNotProved, MaxSteps)
	default:
		panic(e)
	}
}
