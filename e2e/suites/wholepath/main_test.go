// Package wholepath_test applies the examples to a dev cluster with programs that run by the charts' Deployments, and at
// last upgrades, uninstalls and installs its release again, with workloads that must not notice.
package wholepath_test

import (
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

var cluster = &suite.Cluster{Options: devcluster.Options{Values: before}, Elects: true}

func TestMain(m *testing.M) { cluster.Main(m) }
