package live

import (
	"context"
	"time"
)

// reporting is how long a report may take, even if the context of the wait has ended.
const reporting = time.Minute

// Test are the methods of a *testing.T that a scenario needs; commands that import this package do not import testing.
type Test interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// Scenario bounds a test's waits, and has the report of a wait that fails.
type Scenario struct {
	// Patience is how long to wait for anything.
	Patience time.Duration
	// Report shows everything that the scenario is about.
	Report func(context.Context) string
}

// Until waits, and ends the test with the report if that fails.
func (s Scenario) Until(ctx context.Context, t Test, what string, look Look) {
	t.Helper()
	waiting, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	s.Must(ctx, t, Wait(waiting, what, look))
}

// Must ends the test with the report if there is an error.
func (s Scenario) Must(ctx context.Context, t Test, err error) {
	t.Helper()
	if err != nil {
		reported, cancel := context.WithTimeout(context.WithoutCancel(ctx), reporting)
		defer cancel()
		t.Fatalf("%v\n%s", err, s.Report(reported))
	}
}
