package controller

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
)

// NewReconciler reads without a cache, for tests that decide themselves what it sees.
func NewReconciler(live client.Client, backend backend.Backend) *Reconciler {
	return &Reconciler{
		client: live, writer: newWriter(live, live), backend: backend,
		recorder: events.NewFakeRecorder(100), clock: clock.RealClock{},
	}
}
