// Package scheduler_test runs the scheduler through what takes a whole cluster: gangs of operators, and a simulation come
// true. What one gang goes through is tested by the scheduler's package schedulerserver, and faults by the suite endure.
//
// It runs on a dev cluster of its own, since it kills the scheduler. PACKTREE_SCHEDULER names another binary of it, for
// example one built with -race.
package scheduler_test

import (
	"os"
	"path/filepath"
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const schedulerProgram = "kai-topology-plugin"

// reserveFor has neither the scheduler nor a simulation reserve room for overtaken gangs. The test that compares the two
// goes on once pods are where they were in the simulation, and a reservation moves no pod that it could wait for.
const reserveFor = "0s"

var cluster = &suite.Cluster{
	Options: devcluster.Options{
		Components: []string{suite.GroveOperator, "podgrouper", schedulerProgram},
		NodesFile:  filepath.Join("testdata", "nodes.yaml"),
		Values:     map[string]map[string]any{schedulerProgram: {"reserveFor": reserveFor}},
	},
	Elects: true,
}

func TestMain(m *testing.M) {
	if program := os.Getenv("PACKTREE_SCHEDULER"); program != "" {
		cluster.Options.Programs = map[string]string{schedulerProgram: program}
	}
	cluster.Main(m)
}
