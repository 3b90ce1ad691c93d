package pace

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
)

// Events is the kind of the requests that a recorder makes.
var Events = schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}

// NewRecorder returns a recorder that counts its events. Inner writes them later, and some of them as one.
func NewRecorder(inner events.EventRecorder, limits *Limits) events.EventRecorder {
	return recorder{inner: inner, limits: limits}
}

type recorder struct {
	inner  events.EventRecorder
	limits *Limits
}

func (r recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.limits.Spend(Events)
	r.inner.Eventf(regarding, related, eventType, reason, action, note, args...)
}
