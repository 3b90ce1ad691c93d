package controller

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"packtree.dev/dynamo-operator/internal/status"
)

func TestEventsAreLoggedAtTheirLevel(t *testing.T) {
	for kind, level := range map[string]string{"Normal": "info", "Warning": "warn"} {
		var out bytes.Buffer
		logEvent(zap.New(zap.WriteTo(&out), zap.JSONEncoder()),
			status.Event{Type: kind, Reason: "TopologyLevelsUnavailable", Message: "rack is gone"})
		for _, part := range []string{`"level":"` + level + `"`, `"msg":"rack is gone"`,
			`"event":"TopologyLevelsUnavailable"`} {
			assert.Contains(t, out.String(), part, kind)
		}
	}
}
