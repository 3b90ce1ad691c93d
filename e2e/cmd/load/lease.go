package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// tenure is how a scheduler gets its lease and keeps it.
type tenure struct {
	watch watch.Interface
	began chan time.Time

	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

// watchLease deletes an old lease, so that there is no wait for its end, and watches for the next one.
func (b *schedulersBench) watchLease(ctx context.Context, s scheduler) (*tenure, error) {
	leases := b.core.CoordinationV1().Leases(s.leaseNamespace)
	err := leases.Delete(ctx, s.lease, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("deleting the lease of %s: %w", s.program, err)
	}
	watched, err := leases.Watch(ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", s.lease).String()})
	if err != nil {
		return nil, fmt.Errorf("watching the lease of %s: %w", s.program, err)
	}
	t := &tenure{watch: watched, began: make(chan time.Time, 1)}
	go t.follow()
	return t, nil
}

func (t *tenure) follow() {
	for event := range t.watch.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok || event.Type == watch.Deleted || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			continue
		}
		now := time.Now()
		t.mu.Lock()
		if t.last.IsZero() {
			t.began <- now
		} else {
			t.longest = max(t.longest, now.Sub(t.last))
		}
		t.last = now
		t.mu.Unlock()
	}
}

// gap is the longest time between two renewals so far, including the present one. A renewal is due every two seconds,
// and after ten without one a scheduler gives up.
func (t *tenure) gap() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.longest, time.Since(t.last))
}
