// Package dynamo_test runs stories of DynamoGraphDeployments in a cluster. It has a dev cluster of its own.
package dynamo_test

import (
	"os"
	"testing"

	"packtree.dev/e2e/suites/internal/suite"
)

const operator = "dynamo-operator"

// cluster has the nodes of docs/examples, all components, and beside them the nodes of each story.
var cluster = &suite.Cluster{Operator: operator}

func TestMain(m *testing.M) {
	if account := os.Getenv(asEngine); account != "" {
		os.Exit(playEngine(account))
	}
	cluster.Main(m)
}
