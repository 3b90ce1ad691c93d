package controller

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settling is how long a workload may name a Topology or a level that does not exist before that is reported. A
// Topology with changed levels is deleted and created anew, and a Topology may come from the same file as the
// workload.
var settling = 2 * time.Second

// doubts are the PodGroups of workloads that name a Topology or level that does not exist now, and since when.
type doubts struct {
	mu    sync.Mutex
	since map[client.ObjectKey]time.Time
}

// wait returns how much longer the doubt about a PodGroup has to last until it is reported. A reported doubt is
// forgotten.
func (d *doubts) wait(key client.ObjectKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[client.ObjectKey]time.Time{}
	}
	since, known := d.since[key]
	if !known {
		since = now
		d.since[key] = since
	}
	left := settling - now.Sub(since)
	if left <= 0 {
		delete(d.since, key)
	}
	return max(left, 0)
}

// over forgets a doubt that is resolved, or has lost its PodGroup.
func (d *doubts) over(key client.ObjectKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, key)
}
