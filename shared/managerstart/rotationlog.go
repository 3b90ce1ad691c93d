package managerstart

import (
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// rotationLogger is the logger name of the library that renews certificates.
const rotationLogger = "cert-rotation"

// calmSink logs as information what that library calls errors, and tries again at once: two of its controllers write
// one Secret, and the Secret of a fresh installation is empty.
type calmSink struct {
	logr.LogSink
	rotation bool
}

func (s calmSink) WithName(name string) logr.LogSink {
	return calmSink{LogSink: s.LogSink.WithName(name), rotation: s.rotation || name == rotationLogger}
}

func (s calmSink) WithValues(keysAndValues ...any) logr.LogSink {
	return calmSink{LogSink: s.LogSink.WithValues(keysAndValues...), rotation: s.rotation}
}

func (s calmSink) Error(err error, message string, keysAndValues ...any) {
	if s.rotation && err != nil && (apierrors.IsConflict(err) || strings.Contains(err.Error(), "not well-formed")) {
		s.Info(0, message+", and will be tried again", append(keysAndValues, "reason", err.Error())...)
		return
	}
	s.LogSink.Error(err, message, keysAndValues...)
}
