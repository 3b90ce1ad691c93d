// Package wholepath_test applies the examples to a dev cluster with programs that run by the charts' Deployments, and
// compares the metrics of the programs with what dashboards and alerts ask for.
package wholepath_test

import (
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

var cluster = &suite.Cluster{Elects: true, Options: devcluster.Options{Values: map[string]map[string]any{
	// Slots are counted of shapes that are named.
	"kai-topology-plugin": {"shapes": []any{map[string]any{"name": "one", "pods": 1, "resources": map[string]any{"cpu": 1}}}},
}}}

func TestMain(m *testing.M) { cluster.Main(m) }
