// Package grove_test has PodCliqueSets live through what happens to them in a cluster. It runs on a dev cluster of its own.
package grove_test

import (
	"path/filepath"
	"testing"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	// patience is how long the start in order may take, on a machine that does other things too.
	patience = 4 * time.Minute
	// heartbeat is how long a node is believed to live without a sign of life, short so that nobody waits for long when one is cut off.
	heartbeat = 10 * time.Second

	operator = suite.GroveOperator
)

var (
	components = []string{operator, "podgrouper", "kai-topology-plugin"}

	cluster = &suite.Cluster{
		Options: devcluster.Options{NodesFile: filepath.Join("testdata", "nodes.yaml"), Components: components,
			Heartbeat: heartbeat},
		Operator: operator,
	}
)

func TestMain(m *testing.M) { cluster.Main(m) }
