package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"packtree.dev/e2e/devcluster"
)

func TestAWaitEndsWhenAProgramHasEndedForGood(t *testing.T) {
	crashed := errors.New("etcd ended (signal: killed), its log ends with: out of memory")
	for name, test := range map[string]struct {
		end      devcluster.End
		reported bool
	}{
		"a program of the control plane": {devcluster.End{Program: "etcd", How: crashed}, true},
		"a component that has ended once": {
			devcluster.End{Program: "podgrouper", How: crashed, Again: time.Second}, false,
		},
		"a component that ends again and again": {devcluster.End{Program: "podgrouper", How: crashed, Again: hopeless},
			true},
	} {
		for when, first := range map[string]bool{"before the wait": true, "during the wait": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				var all ends
				if first {
					all.add(test.end)
				}
				limit := 20 * time.Millisecond
				if test.reported {
					limit = time.Minute // The end of the program must come first.
				}
				ctx, cancel := context.WithTimeout(all.while(t.Context()), limit)
				defer cancel()
				if !first {
					all.add(test.end)
				}
				err := Wait(ctx, "all pods run", func(context.Context) (bool, string,
					error) {
					return false, "none runs", nil
				})
				if reported := strings.Contains(err.Error(), "out of memory"); reported != test.reported {
					t.Errorf("the wait ends with %v", err)
				}
				if reported := !errors.Is(err, context.DeadlineExceeded); reported != test.reported {
					t.Errorf("the wait ends with %v", err)
				}
			})
		}
	}
}

func TestEveryEndIsInTheReport(t *testing.T) {
	var own Own
	if said := own.Ends(); said != "" {
		t.Errorf("nothing has ended: %q", said)
	}
	own.ends.add(devcluster.End{Program: "podgrouper", How: errors.New("podgrouper ended"), Again: time.Second})
	own.ends.add(devcluster.End{Program: "etcd", How: errors.New("etcd ended")})
	own.ends.add(devcluster.End{Program: "kwok", How: errors.New("kwok ended")})
	if said, want := own.Ends(), "podgrouper is started again after 1s: podgrouper ended\n"+
		"etcd is not started again: etcd ended\nkwok is not started again: kwok ended"; said != want {
		t.Errorf("got %q, want %q", said, want)
	}
	assert.ErrorContains(t, context.Cause(own.While(t.Context())), "etcd ended")
}
