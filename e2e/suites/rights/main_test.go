// Package rights_test has the programs do all that they do, and holds what the API server noted of it against the roles of the charts: no right
// is missing, and none is one too many. It runs on a dev cluster of its own.
package rights_test

import (
	"os"
	"path/filepath"
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	systemNamespace = "packtree-system"

	dynamoOperator = "dynamo-operator"
	groveOperator  = suite.GroveOperator
	podgrouper     = "podgrouper"
	scheduler      = "kai-topology-plugin"
)

type values = map[string]any

// cluster notes what the programs ask of it. It also has the admission plugin that some distributions have and the default set has not, which asks for further
// rights where an object holds up the deletion of its owner.
var cluster = &suite.Cluster{Operator: groveOperator, Elects: true}

// auditLog is where the API server writes.
var auditLog string

func TestMain(m *testing.M) {
	policy, err := filepath.Abs(filepath.Join("testdata", "audit.yaml"))
	if err != nil {
		panic(err)
	}
	directory, err := os.MkdirTemp("", "packtree-rights-")
	if err != nil {
		panic(err)
	}
	auditLog = filepath.Join(directory, "audit.log")
	// Where an API server streams lists, clients do not list; some do not, so the programs are told to do without. The scheduler has its own switch.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", "false"); err != nil {
		panic(err)
	}
	cluster.Options = devcluster.Options{
		APIServer: []string{
			"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, "--audit-log-maxsize=10000",
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		},
		Values: map[string]map[string]any{scheduler: {"extraArgs": []string{"--feature-gates=WatchListClient=false"}}},
	}
	cluster.Afterwards = func() error { return os.RemoveAll(directory) }
	cluster.Main(m)
}
