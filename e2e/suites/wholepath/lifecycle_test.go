package wholepath_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

const (
	frontends = "grove.io/podclique=vllm-rack-0-frontend"
	routers   = "grove.io/podclique=disaggregated-inference-0-router"
)

// TestWorkloadsOutliveTheRelease installs, upgrades, uninstalls and installs again with the same workloads, and at last
// removes everything: it is the last test.
func TestWorkloadsOutliveTheRelease(t *testing.T) {
	w := &world{World: suite.World{Cluster: cluster, Name: envconf.RandomName("life", 12), Operator: groveOperator,
		Shown: "dgd,pcs,pclq,pcsg,pg"}}
	cluster.Test(t, features.New("release").
		Assess("a deployment, a set and a Job run",
			suite.AllOf(w.create, w.run, w.isReady, w.isNotYetUpgraded, w.leavesNothingBut(everything), w.remembers)).
		Assess("an upgrade with other values reaches the programs",
			suite.AllOf(w.upgrades(after), w.isUpgraded, w.leavesNothingBut(everything))).
		Assess("no pod and no object has noticed", w.isAsItWas(false)).
		Assess("all of it is followed as before", suite.AllOf(
			w.Kubectl("patch", "dgd", "vllm-rack", "--type=json",
				`--patch=[{"op":"test","path":"/spec/components/1/name","value":"Frontend"},{"op":"replace","path":"/spec/components/1/replicas","value":2}]`),
			w.Kubectl("scale", "pclq", "disaggregated-inference-0-router", "--replicas=2"),
			w.anotherJob,
			w.podsOf(frontends, 2), w.podsOf(routers, 2), w.isReady, w.isAsItWas(true))).
		Assess("without the release, the definitions of kinds and all objects stay", suite.AllOf(
			w.remembers, w.uninstalls, w.leavesNothingBut(theirDefinitions), w.isAsItWas(false))).
		Assess("what users ask for meanwhile is kept", suite.AllOf(
			w.Kubectl("scale", "pclq", "disaggregated-inference-0-router", "--replicas=3"), w.isAsItWas(false))).
		Assess("a new release takes all of it over, and does what was asked for", suite.AllOf(
			w.installs, w.podsOf(routers, 3), w.isAsItWas(true), w.run, w.isReady)).
		Assess("the workloads go", w.removes).
		Assess("a release that is configured so takes the definitions of its kinds along", suite.AllOf(
			w.upgrades(releasing), w.uninstalls,
			// Of the remaining objects, ClusterTopologies wait for an operator that is gone.
			w.Kubectl("patch", "clustertopologies", "grove-topology", "--type=merge",
				`--patch={"metadata":{"finalizers":null}}`),
			w.definitionsGo, w.leavesNothingBut(nothing))))
}
