package topologies_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	config "packtree.dev/shared/api/groveconfig/v1alpha1"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

const (
	zoneKey, blockKey, rackKey, hostKey = "topology.kubernetes.io/zone", "topology.packtree.dev/block",
		"topology.packtree.dev/rack", "kubernetes.io/hostname"

	whyItWaits = `jsonpath={.status.conditions[?(@.type=="PodCliqueScheduled")].message}`

	defaultTopology = grove.DefaultClusterTopologyName
)

// drift removes levels from the default topology and restores them, each time by a restart of the operator.
func drift(w *world) *features.FeatureBuilder {
	var placed, held, more standing
	zone, block := config.TopologyLevel{Domain: "zone", Key: zoneKey}, config.TopologyLevel{Domain: "block",
		Key: blockKey}
	rack, host := config.TopologyLevel{Domain: "rack", Key: rackKey}, config.TopologyLevel{Domain: "host", Key: hostKey}
	// The preferences of the router, and of the model, in one of a replica's gangs.
	asks := func(wishes bool) func(*scheduler.PodGang) bool {
		return func(gang *scheduler.PodGang) bool {
			found := constraints(gang)
			_, model := found[gang.Name+"-model-0"]
			_, router := found[gang.Name+"-router"]
			return found[""] == zoneKey+"," && model == wishes && router == wishes
		}
	}
	return features.New("drift").
		Setup(w.create).
		Assess("nobody writes into the default topology, or deletes it", suite.AllOf(
			w.topologyIs(defaultTopology, zoneKey, blockKey, rackKey, hostKey),
			w.TurnedDown("reserved.yaml", "spec.levels", "change topologyAwareScheduling.levels there"),
			w.Refused([]string{"change topologyAwareScheduling.levels there"}, "delete", "clustertopology",
				defaultTopology))).
		Assess("what is written past the webhooks does not stay", suite.AllOf(
			w.appliesAsTheOperator("reserved.yaml"), w.TheOperatorDies,
			w.topologyIs(defaultTopology, zoneKey, blockKey, rackKey, hostKey))).
		Assess("sets run in the domains of the default topology", suite.AllOf(
			w.Applies("drifts.yaml"), w.Applies("holds.yaml"), w.stands("holds", gb200), w.remembers("holds", &held),
			w.stands("drifts", gb200), w.follows("drifts", defaultTopology),
			w.gangsAre("drifts", "all wishes", asks(true)),
			w.remembers("drifts", &placed))).
		Assess("the operator is started with fewer levels, and the set says which it misses", suite.AllOf(
			w.Undisturbed(w.GroveOperatorRestartsWith(host, zone),
				w.HasEvent("PodCliqueSet", "drifts", "TopologyUnavailable", "block, rack")),
			w.topologyIs(defaultTopology, zoneKey, hostKey),
			w.says("drifts", metav1.ConditionTrue, grove.ReasonClusterTopologyLevelsUnavailable, "block, rack"))).
		Assess("so does one that would rather wait than do without", w.says(
			"holds", metav1.ConditionTrue, grove.ReasonClusterTopologyLevelsUnavailable, "block, rack",
			grove.AnnotationMissingTopologyLevel)).
		Assess("pods that run stay",
			suite.AllOf(w.isReady("drifts"), w.hasKept("drifts", &placed), w.isReady("holds"),
				w.hasKept("holds", &held))).
		Assess("a gang that is made now asks for what is left", suite.AllOf(
			w.Kubectl("scale", "pcs/drifts", "--replicas=2"), w.TheOperatorDies, w.isReady("drifts"),
			w.gangsAre("drifts", "what is left, of the new one", func(gang *scheduler.PodGang) bool {
				return strings.HasSuffix(gang.Name, "-0") || asks(false)(gang)
			}), w.remembers("drifts", &more), w.hasKept("drifts", &placed))).
		Assess("unless its set is held", suite.AllOf(
			w.Kubectl("scale", "pcs/holds", "--replicas=2"), w.TheOperatorDies,
			w.Shows([]string{"pods held for level block, rack of ClusterTopology " + defaultTopology +
				", which is missing: 2"}, "get", "pclq", "holds-1-router", "-o", whyItWaits),
			w.Shows([]string{"pods held for level block, rack of ClusterTopology " + defaultTopology +
				", which is missing: 3"}, "get", "pclq", "holds-1-model-0-worker", "-o", whyItWaits),
			w.hasKept("holds", &held))).
		Assess("a new set that asks for what is gone is refused", w.TurnedDown("in-a-block.yaml",
			"spec.template.topologyConstraint", "block", defaultTopology, "available domains: zone, host")).
		Assess("its own metadata stays editable", w.Kubectl("annotate", "pcs", "drifts", "example.com/touched=yes")).
		Assess("the levels come back, in whatever order, and all is as it was", suite.AllOf(
			w.Undisturbed(w.GroveOperatorRestartsWith(host, rack, zone, block),
				w.HasEvent("PodCliqueSet", "drifts", "TopologyAvailable")),
			w.topologyIs(defaultTopology, zoneKey, blockKey, rackKey, hostKey),
			w.says("drifts", metav1.ConditionFalse, grove.ReasonAllClusterTopologyLevelsAvailable),
			w.gangsAre("drifts", "all wishes", asks(true)), w.isReady("drifts"), w.hasKept("drifts", &more))).
		Assess("and what was held is placed with all its wishes", suite.AllOf(
			w.stands("holds", gb200), w.hasKept("holds", &held), w.gangsAre("holds", "all wishes", asks(true)))).
		Assess("and others can ask for them", w.Applies("in-a-block.yaml")).
		Teardown(w.remove)
}

// appliesAsTheOperator applies a file as the account of the operator, which its webhooks exempt.
func (w *world) appliesAsTheOperator(file string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.Kubectl("apply", "-f", w.File(t, file), "--as=system:serviceaccount:packtree-system:grove-operator")(
			ctx, t, config)
	}
}
