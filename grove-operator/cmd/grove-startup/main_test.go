package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/grove-operator/internal/layout"
)

// pod is the environment of a container in a cluster.
func pod(name string) string {
	return map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}[name]
}

// outside is the environment of a program in no cluster.
func outside(string) string { return "" }

func TestArgumentsOfAPod(t *testing.T) {
	var out bytes.Buffer
	chosen, err := parse([]string{"--after=s-0-a:2", "--after", "s-0-b:1"}, pod, &out)
	want := []layout.Parent{{PodClique: "s-0-a", MinAvailable: 2}, {PodClique: "s-0-b", MinAvailable: 1}}
	require.NoError(t, err, out.String())
	assert.Equal(t, want, chosen.parents)
	assert.Equal(t, "https://[fd00::1]:443", chosen.server)
	assert.Equal(t, "/var/run/secrets/kubernetes.io/serviceaccount", chosen.credentials)
}

func TestMistakesAreNeverExitZero(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		getenv func(string) string
		code   int
		says   string
	}{
		"nothing to wait for":      {nil, pod, exitUsage, "at least one --after"},
		"no minimum":               {[]string{"--after=a"}, pod, exitUsage, "not <podclique>:<minimum>"},
		"a minimum of none":        {[]string{"--after=a:0"}, pod, exitUsage, "from 1 on"},
		"an argument without flag": {[]string{"--after=a:1", "b:1"}, pod, exitUsage, `"b:1"`},
		"an unknown flag":          {[]string{"--before=a:1"}, pod, exitUsage, "not defined"},
		"no cluster":               {[]string{"--after=a:1"}, outside, exitUsage, "--server"},
		"no credentials":           {[]string{"--after=a:1", "--credentials=/nowhere"}, pod, exitFailed, "/nowhere"},
		"no server that can be one": {[]string{"--after=a:1", "--server=::", "--credentials=/nowhere"}, pod,
			exitFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(c.args, c.getenv, &out, &errs)
			assert.Equal(t, c.code, code)
			assert.Contains(t, errs.String(), c.says)
			assert.Empty(t, out.String())
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"--help"}, outside, &out, &errs)
	assert.Zero(t, code)
	assert.Empty(t, errs.String())
	for _, want := range []string{"--after inference-0-prefill:2", "grove.io/podclique", "143", "-credentials"} {
		assert.Contains(t, out.String(), want)
	}
	out.Reset()
	code = run([]string{"--version"}, outside, &out, &errs)
	assert.Zero(t, code)
	assert.True(t, strings.HasPrefix(out.String(), "grove-startup version "), out.String())
}
