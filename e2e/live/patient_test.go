package live_test

import (
	"testing"

	"packtree.dev/e2e/live"
)

func TestUnanswered(t *testing.T) {
	for said, want := range map[string]bool{
		`Error from server (InternalError): failed calling webhook "x.grove.io": connection refused`:              true,
		`conversion webhook for nvidia.com/v1alpha1 failed`:                                                       true,
		`Error from server (Timeout): Timeout: request did not complete within requested timeout - context dead…`: true,
		`error validating data: Get "https://host/openapi/v2?timeout=32s": context deadline exceeded`:             true,
		`net/http: request canceled (Client.Timeout exceeded while awaiting headers)`:                             true,
		`pods "a-0" is forbidden: no PriorityClass with name inference was found`:                                 true,
		`admission webhook "x.grove.io" denied the request: spec.replicas: Invalid value`:                         false,
		`error: timed out waiting for the condition on deployments/web`:                                           false,
		`Error from server (NotFound): pods "web" not found`:                                                      false,
	} {
		if got := live.Unanswered(said); got != want {
			t.Errorf("Unanswered(%q) = %t", said, got)
		}
	}
}
