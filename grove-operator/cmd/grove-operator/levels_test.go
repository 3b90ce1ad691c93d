package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/render"
)

// TestWrongLevelsEndTheProgram runs the program as a pod does, with configurations that are wrong in one place.
func TestWrongLevelsEndTheProgram(t *testing.T) {
	const inOrder = "{domain: region, key: a/1}, {domain: zone, key: a/2}, {domain: datacenter, key: a/3}, {domain: " +
		"block, key: a/4}, {domain: rack, key: a/5}, {domain: host, key: kubernetes.io/hostname}, {domain: numa, key: a/numa}"
	for name, c := range map[string]struct{ levels, want string }{
		"none": {"",
			"topologyAwareScheduling.levels: Required value: topology awareness needs at least one level"},
		"an unknown domain": {"{domain: racks, key: a/b}",
			"topologyAwareScheduling.levels[0].domain: Invalid value: \"racks\": must be one of region, zone, datacenter, " +
				"block, rack, host, numa; did you mean \"rack\"?"},
		"no domain": {"{key: a/b}", "topologyAwareScheduling.levels[0].domain: Invalid value: \"\": "},
		"a domain twice": {"{domain: zone, key: a/b}, {domain: zone, key: a/c}",
			"topologyAwareScheduling.levels[1].domain: Duplicate value: \"zone\""},
		"a key twice": {"{domain: zone, key: a/b}, {domain: rack, key: a/b}",
			"topologyAwareScheduling.levels[1].key: Duplicate value: \"a/b\""},
		"a key that is no label key": {"{domain: zone, key: a b}",
			"topologyAwareScheduling.levels[0].key: Invalid value: \"a b\": must be the key of a node label: "},
		"eight": {inOrder + ", {domain: rack, key: a/8}",
			"topologyAwareScheduling.levels[7].domain: Duplicate value: \"rack\""},
		"no level at all": {"host", "topologyAwareScheduling.levels[0]: "},
		"a level below single hosts": {
			"{domain: zone, key: kubernetes.io/hostname}, {domain: rack, key: a/rack}",
			"topologyAwareScheduling.levels[0].key: Invalid value: \"kubernetes.io/hostname\": " +
				"the label distinguishes single hosts, so that no level can be below it but numa, and rack is",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := configFile(t, "topologyAwareScheduling: {enabled: true, levels: ["+c.levels+"]}")
			command := exec.CommandContext(t.Context(), os.Args[0], "--config", file)
			command.Env = append(os.Environ(), asProgram+"=1")
			var stderr bytes.Buffer
			command.Stderr = &stderr
			err := command.Run()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the program ends")
			assert.Equal(t, render.ExitRejected, exit.ExitCode(), "the program ends")
			line, more, _ := strings.Cut(stderr.String(), "\n")
			want := file + "[1]: OperatorConfiguration: " + c.want
			require.True(t, strings.HasPrefix(line, want), "it says\n%s\nwant one line\n%s", stderr.String(), want)
			assert.Empty(t, more, "it says\n%s\nwant one line\n%s", stderr.String(), want)
		})
	}
}
