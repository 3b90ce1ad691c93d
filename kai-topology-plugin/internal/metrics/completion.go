package metrics

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// complete has since when the gangs that wait have had all pods that they need.
var complete sync.Map

// GangComplete is for a gang that can be planned from now on, and is not bound. Only the first call for a gang counts.
func GangComplete(gang types.NamespacedName) {
	if _, known := complete.Load(gang); !known {
		complete.LoadOrStore(gang, time.Now())
	}
}

// GangNotComplete is for a gang that lacks pods, is invalid, or is no more.
func GangNotComplete(gang types.NamespacedName) { complete.Delete(gang) }

// GangBound is for a gang whose minima are bound. It counts once after each GangComplete.
func GangBound(gang types.NamespacedName) {
	if since, known := complete.LoadAndDelete(gang); known {
		boundSeconds.Observe(time.Since(since.(time.Time)).Seconds())
	}
}
