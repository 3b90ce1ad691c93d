package live

import (
	"context"
	"time"
)

// reporting is how long a report may take, also when the context that ended the wait has ended with it.
const reporting = time.Minute

// Test is what a scenario needs of a *testing.T, which the commands that import this package have no use for.
type Test interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// Scenario is what a test waits for, and what it prints when it waited in vain.
type Scenario struct {
	// Patience is how long to wait for anything.
	Patience time.Duration
	// Report shows all that the scenario is about.
	Report func(context.Context) string
}

// Until waits, and ends the test with the report when that fails.
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
