package certificate

import (
	"errors"
	"fmt"
)

// What is said to be out of steps.
var (
	errNotRead    = errors.New("it cannot be read")
	errNotChecked = errors.New("the placement cannot be checked")
)

// outOfSteps is what spend panics with, so that every loop ends in time and no
// caller in between has to pass it on.
type outOfSteps struct{}

// spend counts steps.
func (m *Model) spend(steps int) {
	if m.steps += steps; m.steps > m.limit {
		panic(outOfSteps{})
	}
}

// recovered reports whether the steps ran out, and goes on with any other panic.
func recovered(e any) bool {
	if _, spent := e.(outOfSteps); !spent && e != nil {
		panic(e)
	}
	return e != nil
}

// endSpent turns the end of the steps into an error about what did not come to an end.
func endSpent(err *error, what error) {
	if recovered(recover()) {
		*err = fmt.Errorf("%w within %d steps", what, MaxSteps)
	}
}
