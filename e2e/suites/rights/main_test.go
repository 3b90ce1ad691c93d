// Package rights_test makes the programs do all that they do, and compares the API server's audit log with the roles of
// the charts: no right is missing, and none is one too many. It has a dev cluster of its own.
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

	// reader is the service account that may read the scheduler's metrics.
	reader = "prometheus"
)

type values = map[string]any

// cluster logs the programs' requests. It also has an admission plugin that some distributions use beside the default
// ones: it requires further rights for objects that delay the deletion of their owner.
var cluster = &suite.Cluster{Elects: true}

// auditLog is the file to which the API server writes.
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
	// If an API server streams lists, clients do not list; some do not stream, so that is switched off for the
	// programs. The scheduler has its own switch.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", "false"); err != nil {
		panic(err)
	}
	cluster.Options = devcluster.Options{
		APIServer: []string{
			"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, "--audit-log-maxsize=10000",
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
			// Pods ask for devices by the name of a resource, which is on since Kubernetes 1.36.
			"--feature-gates=DRAExtendedResource=true",
		},
		Values: map[string]map[string]any{scheduler: {
			"extraArgs":      []string{"--feature-gates=WatchListClient=false,DRAExtendedResource=true"},
			"admissionCheck": values{"enabled": true},
			"monitoring":     values{"readers": []any{values{"name": reader, "namespace": systemNamespace}}},
		}},
	}
	cluster.Afterwards = func() error { return os.RemoveAll(directory) }
	cluster.Main(m)
}
