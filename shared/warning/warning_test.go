package warning_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"packtree.dev/shared/warning"
)

// written are the level, the message and the values of a program's line at a log level.
func written(t *testing.T, level zapcore.Level, logger func(logr.Logger) logr.Logger) map[string]any {
	t.Helper()
	var out bytes.Buffer
	warning.Log(logger(zap.New(zap.WriteTo(&out), zap.Level(level), zap.JSONEncoder())), "a level is gone",
		"domain", "rack")
	if out.Len() == 0 {
		return nil
	}
	line := map[string]any{}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), "in %s", out.String())
	delete(line, "ts")
	return line
}

func TestALineHasTheLevelWarn(t *testing.T) {
	named := func(made logr.Logger) logr.Logger { return made.WithValues("namespace", "ns") }
	got := written(t, zapcore.InfoLevel, named)
	if got["msg"] != "a level is gone" || got["namespace"] != "ns" || got["domain"] != "rack" || got["level"] != "warn" {
		t.Errorf("the line lacks what it was to say: %v", got)
	}
	assert.Empty(t, cmp.Diff(map[string]any(nil), written(t, zapcore.ErrorLevel, named)),
		"with log level error (-want +got)")
}

// Controllers get a logger that delegates to the program's, which is set later.
func TestTheLoggerOfControllersIsNoOther(t *testing.T) {
	var out bytes.Buffer
	stands := log.Log.WithName("controller")
	log.SetLogger(zap.New(zap.WriteTo(&out), zap.JSONEncoder()))
	warning.Log(stands, "a level is gone", "domain", "rack")
	if line := out.String(); !strings.Contains(line, `"level":"warn"`) || !strings.Contains(line, `"domain":"rack"`) {
		t.Errorf("written: %s", line)
	}
}

func TestAnyLoggerIsWritten(t *testing.T) {
	var lines []string
	warning.Log(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}), "a level is gone",
		"domain", "rack")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], `"level"="warn"`)
	assert.Contains(t, lines[0], `"domain"="rack"`)
	warning.Log(logr.Logger{}, "nobody hears that")
}
