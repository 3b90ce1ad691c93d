package wholepath_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	dynamoOperator = "dynamo-operator"
	groveOperator  = suite.GroveOperator
	podgrouper     = "podgrouper"
	scheduler      = "kai-topology-plugin"
)

type values = map[string]any

// before are the values of the first installation.
var before = map[string]map[string]any{
	dynamoOperator: {"logLevel": "info"},
	groveOperator: {"logLevel": "info",
		"config": values{"controllers": values{"podClique": values{"concurrentSyncs": 1}}}},
	podgrouper: {"logLevel": "info"},
	scheduler:  {"clientConnection": values{"qps": 200, "burst": 400}},
}

// after are those of the upgrade: the log level, the pods of the programs, and their configuration.
var after = map[string]map[string]any{
	dynamoOperator: {"logLevel": "debug", "resources": moreMemory},
	groveOperator: {
		"logLevel": "debug", "resources": moreMemory, "podAnnotations": values{"example.com/upgraded": "yes"},
		"config": values{"controllers": values{"podClique": values{"concurrentSyncs": 8}},
			"runtimeClientConnection": values{"qps": 50, "burst": 60}},
	},
	// Its pods stay pending: no kube-scheduler runs here, and the active program is the process beside the cluster.
	podgrouper: {"logLevel": "debug", "resources": moreMemory, "replicas": 2},
	scheduler:  {"clientConnection": values{"qps": 1000, "burst": 2000}, "resources": moreMemory},
}

const upgradedMemory = "3Gi"

var moreMemory = values{"limits": values{"memory": upgradedMemory}}

// releasing are the values with which uninstalling removes the definitions of kinds too.
var releasing = map[string]map[string]any{
	dynamoOperator: {"crds": values{"keep": false}}, groveOperator: {"crds": values{"keep": false}},
	scheduler: {"crds": values{"keep": false}},
}

// upgrades is helm upgrade, after which the programs are restarted.
func (w *world) upgrades(to map[string]map[string]any) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Must(ctx, t, cluster.Machine.Upgrade(ctx, to))
		return ctx
	}
}

func (w *world) uninstalls(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, cluster.Machine.Uninstall(ctx))
	return ctx
}

func (w *world) installs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, cluster.Machine.Install(ctx, after))
	return ctx
}

// isUpgraded checks that the Deployments, by which the programs run, have the new values, and that the programs have
// them too: only since then do they log so much.
func (w *world) isUpgraded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, name := range devcluster.Components {
		deployment := &appsv1.Deployment{}
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, deployment))
		if limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); limit.String() != upgradedMemory {
			t.Errorf("the limit of %s is %s", name, limit)
		}
	}
	for _, name := range logging {
		w.Until(ctx, t, name+" logs as it is configured", func(context.Context) (bool, string, error) {
			return w.logsDebug(name), "", nil
		})
	}
	return ctx
}

// isNotYetUpgraded checks that isUpgraded could fail.
func (w *world) isNotYetUpgraded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, name := range logging {
		if w.logsDebug(name) {
			t.Errorf("%s logs more than it is configured to: %s", name, cluster.LogLines(name, debugLevel, 1))
		}
	}
	return ctx
}

// logging are the programs with a value for their log level.
var logging = []string{dynamoOperator, groveOperator, podgrouper}

const debugLevel = "\tDEBUG\t"

func (w *world) logsDebug(program string) bool {
	return strings.Contains(cluster.LogLines(program, debugLevel, 1), debugLevel)
}

// system are the kinds that the charts make for a program beside its Deployment. All of them are deleted with the
// release.
var system = []string{
	"deployments", "services", "serviceaccounts", "configmaps", "roles", "rolebindings", "clusterroles",
	"clusterrolebindings",
	"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "flowschemas",
}

// leavesNothingBut waits until no more than that is left of the charts in the cluster, and no less.
func (w *world) leavesNothingBut(wanted func(kind string) bool) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, kind := range append([]string{definitions}, system...) {
			w.Until(ctx, t, fmt.Sprintf("there are %s of the charts: %v", kind, wanted(kind)),
				func(ctx context.Context) (bool, string, error) {
					said, err := cluster.Kubectl(ctx, systemNamespace, "get", kind,
						"--selector=app.kubernetes.io/part-of=packtree", "-o", "name")
					return (strings.TrimSpace(said) != "") == wanted(kind), said, err
				})
		}
		return ctx
	}
}

const definitions = "customresourcedefinitions"

func theirDefinitions(kind string) bool { return kind == definitions }

func everything(string) bool { return true }

func nothing(string) bool { return false }

// definitionsGo waits until none of our kinds is installed any more.
func (w *world) definitionsGo(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Until(ctx, t, "the definitions are gone", func(ctx context.Context) (bool, string, error) {
		said, err := cluster.Kubectl(ctx, systemNamespace, "get", definitions,
			"--selector=app.kubernetes.io/part-of=packtree", "-o", "name")
		return err == nil && strings.TrimSpace(said) == "", fmt.Sprintf("%q are left", said), err
	})
	return ctx
}
