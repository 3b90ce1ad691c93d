// Package wholepath_test applies the examples to a dev cluster with programs that run by the charts' Deployments.
package wholepath_test

import (
	"testing"

	"packtree.dev/e2e/suites/internal/suite"
)

var cluster = &suite.Cluster{Elects: true}

func TestMain(m *testing.M) { cluster.Main(m) }
