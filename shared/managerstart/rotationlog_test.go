package managerstart

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatTheRotationTriesAgainIsNoError(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "certificate", errors.New("modified"))
	for claim, test := range map[string]struct {
		logger string
		err    error
		want   string
	}{
		"a conflict": {"cert-rotation", conflict, `"level":"info"`},
		"a Secret that is empty": {"cert-rotation", errors.New("Cert secret is not well-formed, missing ca.crt"),
			`"level":"info"`},
		"what is not tried again":    {"cert-rotation", errors.New("forbidden"), `"level":"error"`},
		"nothing that is named":      {"cert-rotation", nil, `"level":"error"`},
		"a conflict of anybody else": {"podgang", conflict, `"level":"error"`},
		"a name that only begins so": {"cert-rotation-of-tyres", conflict, `"level":"error"`},
	} {
		t.Run(claim, func(t *testing.T) {
			var said bytes.Buffer
			logger, err := newLogger(Settings{LogLevel: "info", LogFormat: "json"}, &said)
			require.NoError(t, err)
			logger.WithName("program").WithName(test.logger).WithValues("secret", "certificate").Error(test.err,
				"could not refresh", "attempt", 1)
			for _, part := range []string{test.want, "could not refresh", `"secret":"certificate"`, `"attempt":1`,
				"program." + test.logger} {
				assert.Contains(t, said.String(), part, "the line lacks %s: %s", part, said.String())
			}
			assert.False(t, test.err != nil && !strings.Contains(said.String(), strings.ReplaceAll(test.err.Error(), `"`, `\"`)),
				"the line does not say why: %s", said.String())
		})
	}
}

var _ logr.LogSink = calmSink{}
