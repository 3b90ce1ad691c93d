// Package warning writes log lines of level warn. The logging interface of Kubernetes knows info and error alone, so that what
// somebody should look at, and is no failure of the program, would not be found by its level.
package warning

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap"
)

// Log writes a line of level warn with keys and values as for Info. A logger that is not zap's gets it as info, with the key level.
func Log(logger logr.Logger, message string, keysAndValues ...any) {
	// With its values a logger is the one of zap, and no longer the one that stood in for it until the program had set it.
	logger = logger.WithValues(keysAndValues...)
	if under, ok := logger.GetSink().(interface{ GetUnderlying() *zap.Logger }); ok {
		under.GetUnderlying().Warn(message)
		return
	}
	logger.Info(message, "level", "warn")
}
