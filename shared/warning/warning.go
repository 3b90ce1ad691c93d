// Package warning writes log lines of level warn. The logging interface of Kubernetes has only info and error, so
// that messages that need attention without being failures of the program could not be found by their level.
package warning

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap"
)

// Log writes a line of level warn with keys and values as for Info. A logger that is not zap's gets it as info, with
// the key level.
func Log(logger logr.Logger, message string, keysAndValues ...any) {
	// After WithValues the logger is zap's own, and no longer the one that delegates until the program has set it.
	logger = logger.WithValues(keysAndValues...)
	if under, ok := logger.GetSink().(interface{ GetUnderlying() *zap.Logger }); ok {
		under.GetUnderlying().Warn(message)
		return
	}
	logger.Info(message, "level", "warn")
}
