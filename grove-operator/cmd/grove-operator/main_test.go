package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const header = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"

// run executes the program and returns what it printed, and its error.
func run(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := rootCommand()
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	root.SilenceUsage = true
	err = root.Execute()
	return out.String(), errs.String(), err
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(header+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestATypoInTheConfigurationEndsTheProgram(t *testing.T) {
	_, _, err := run(t, "", "--config", configFile(t, "topologyAwareScheduling: {enabled: true, levels: [{domian: rack, key: a/b}]}"))
	if err == nil || !strings.Contains(err.Error(), `topologyAwareScheduling.levels[0].domian: unknown field, did you mean "domain"?`) {
		t.Errorf("error %v", err)
	}
}

func TestRenderUsesTheConfiguration(t *testing.T) {
	set := `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec: {template: {topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}}
`
	if _, stderr, err := run(t, set, "render", "-f", "-", "--config", configFile(t, "")); err == nil || !strings.Contains(stderr, "topology awareness is off") {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
	on := configFile(t, "topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}")
	stdout, stderr, err := run(t, set, "render", "-f", "-", "--config", on)
	if err != nil || !strings.Contains(stdout, "nodeLabel: example.com/rack") {
		t.Errorf("stdout %q, stderr %q, error %v", stdout, stderr, err)
	}
	if _, stderr, err := run(t, set, "render", "-f", "-", "--config", on+".missing"); err == nil || !strings.Contains(stderr, "no such file") {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
}
