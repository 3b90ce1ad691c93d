// Package lifecycle_test installs, upgrades, uninstalls and installs again, with workloads that must not notice. It has
// a dev cluster of its own, whose programs run by the charts' Deployments at each step.
package lifecycle_test

import (
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	dynamoOperator = "dynamo-operator"
	groveOperator  = suite.GroveOperator
	podgrouper     = "podgrouper"
	scheduler      = "kai-topology-plugin"
)

var cluster = &suite.Cluster{Options: devcluster.Options{Values: before}, Operator: groveOperator, Elects: true}

func TestMain(m *testing.M) { cluster.Main(m) }
