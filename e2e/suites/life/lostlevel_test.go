package life_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
	config "packtree.dev/shared/api/groveconfig/v1alpha1"
)

const enforced = dynamo.ConditionTopologyConstraintsEnforced

// lostLevel removes a level from the default topology and restores it, each time by a restart of grove-operator. Only
// one story may do that, while no other runs.
func lostLevel(w *world) *features.FeatureBuilder {
	var running, grown suite.Memory
	zone, block := config.TopologyLevel{Domain: "zone", Key: "topology.kubernetes.io/zone"},
		config.TopologyLevel{Domain: "block", Key: "topology.packtree.dev/block"}
	rack, host := config.TopologyLevel{Domain: "rack", Key: "topology.packtree.dev/rack"},
		config.TopologyLevel{Domain: "host", Key: "kubernetes.io/hostname"}
	all := asByDefault()
	more := all.but(pods{"Decode": "6 of vllm:1"})
	return features.New("lost level").
		Setup(w.create).
		Assess("a deployment runs in domains of the default topology",
			suite.AllOf(w.Applies("deployments/default-topology.yaml"), w.stands("by-default", all),
				w.says("by-default", enforced, metav1.ConditionTrue, dynamo.ReasonAllTopologyLevelsAvailable),
				w.Reads("grove-topology", "dgd", "by-default", "{.status.topology}"),
				w.Remembers(w.podsOfServices("by-default"), &running))).
		Assess("grove-operator is started without racks, and the deployment says so", suite.AllOf(
			w.GroveOperatorRestartsWith(zone, block, host),
			w.says("by-default", enforced, metav1.ConditionFalse, dynamo.ReasonTopologyLevelsUnavailable, "rack"))).
		Assess("it runs on", suite.AllOf(w.runs("by-default", all),
			w.IsAsIn(&running, w.podsOfServices("by-default")))).
		Assess("and can grow, without that constraint", suite.AllOf(
			w.asksFor("by-default", "Decode", 3), w.runs("by-default", more),
			w.Remembers(w.podsOfServices("by-default"), &grown))).
		Assess("a deployment that asks for racks is refused now", w.TurnedDown("deployments/default-topology-too.yaml",
			"spec.services[0].topologyConstraint.packDomain", `"rack"`, "available domains: zone, block, host")).
		Assess("racks come back, and the constraints are enforced again", suite.AllOf(
			w.GroveOperatorRestartsWith(zone, block, rack, host),
			w.says("by-default", enforced, metav1.ConditionTrue, dynamo.ReasonAllTopologyLevelsAvailable))).
		Assess("nothing has moved in all this",
			suite.AllOf(w.runs("by-default", more), w.IsAsIn(&grown, w.podsOfServices("by-default")))).
		Assess("each change was reported once", w.reportsOnce("by-default",
			dynamo.EventTopologyConstraintsApplied, dynamo.EventTopologyConstraintsLost,
			dynamo.EventTopologyConstraintsRestored)).
		Teardown(w.remove)
}

// reportsOnce waits until each of these events was recorded on a deployment, and checks that none was recorded twice.
func (w *world) reportsOnce(name string, reasons ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		for _, reason := range reasons {
			w.HasEvent("DynamoGraphDeployment", name, reason)(ctx, t, config)
			counts := w.Answer(ctx, t, "get", "events.v1.events.k8s.io",
				"--field-selector=reason="+reason, "-o",
				`jsonpath={range .items[?(@.regarding.name=="`+name+`")]}{.metadata.name} {.series.count};{end}`)
			if times := strings.Count(counts, ";"); times > 1 || times == 1 && !strings.HasSuffix(counts, " ;") {
				t.Errorf("event %s of %s was recorded more than once: %s\n%s", reason, name, counts, w.Report(ctx))
			}
		}
		return ctx
	}
}
