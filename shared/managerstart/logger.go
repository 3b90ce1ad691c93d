package managerstart

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

var levels = map[string]zapcore.Level{
	"debug": zapcore.DebugLevel,
	"info":  zapcore.InfoLevel,
	"error": zapcore.ErrorLevel,
}

func newLogger(settings Settings, to io.Writer) (logr.Logger, error) {
	level, ok := levels[settings.LogLevel]
	if !ok {
		return logr.Logger{}, fmt.Errorf("log level %q: must be debug, info or error", settings.LogLevel)
	}
	encoder := zap.JSONEncoder()
	switch settings.LogFormat {
	case "json":
	case "text":
		encoder = zap.ConsoleEncoder()
	default:
		return logr.Logger{}, fmt.Errorf("log format %q: must be json or text", settings.LogFormat)
	}
	// A stack trace does not help readers of an error that is tried again.
	logger := zap.New(zap.WriteTo(to), zap.Level(level), zap.StacktraceLevel(zapcore.DPanicLevel), encoder)
	return logger.WithSink(calmSink{LogSink: logger.GetSink()}), nil
}
