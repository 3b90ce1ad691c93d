// Package kueue_test runs Kueue's own manager in front of the four components: teams share a cluster by quota, Kueue
// says when a gang may start, and Packtree where. It has a dev cluster of its own.
package kueue_test

import (
	"context"
	"path/filepath"
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/devcluster/kueue"
	"packtree.dev/e2e/suites/internal/suite"
)

var cluster = &suite.Cluster{Options: devcluster.Options{
	NodesFile: filepath.Join("testdata", "nodes.yaml"),
	Values:    map[string]map[string]any{"kai-topology-plugin": {"admissionCheck": map[string]any{"enabled": true}}},
}}

func TestMain(m *testing.M) {
	cluster.Prepare = func(ctx context.Context) error {
		return kueue.Install(ctx, cluster.Machine)
	}
	cluster.Main(m)
}
