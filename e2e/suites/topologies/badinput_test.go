package topologies_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// refusals are kubectl's messages for testdata/badinput/<case>.yaml.
var refusals = map[string][]string{
	"domain-twice": {`"bad" is invalid`, "spec.levels[2].domain: Duplicate value",
		"domain must be unique across all levels, and spec.levels[1] has this one"},
	"key-twice": {`"bad" is invalid`, "spec.levels[2].key: Duplicate value",
		"key must be unique across all levels, and spec.levels[1] has this one"},
	"unknown-domain": {"spec.levels[1].domain", `"row"`,
		"must be one of region, zone, datacenter, block, rack, host, numa"},
	"keys-that-are-none": {"spec.levels[0].key", "two words", "spec.levels[1].key", "a/b/c", "spec.levels[2].key",
		"Example.COM/block", "spec.levels[3].key", "xxxx", "spec.levels[4].key"},
	"eight-levels": {"spec.levels: Too many: 8: must have at most 7 items"},
	"narrowest-first": {"spec.levels[1].domain",
		"must be listed broadest first: region, zone, datacenter, block, rack, host, numa"},
	"no-level": {"spec.levels: Required value: a ClusterTopology needs at least one level"},
	"misspelt": {`unknown field "spec.levels[0].label"`},
	"rack-below-the-hostname": {
		"spec.levels[0].key", "kubernetes.io/hostname", "no level can be below it but numa, and rack is",
	},
	"set-names-none": {"spec.template.clusterTopologyName", `"no-such-topology"`,
		"there is no ClusterTopology of this name"},
	"set-names-one-for-nothing": {"spec.template.clusterTopologyName",
		"only be given together with a topologyConstraint"},
	"set-names-two": {"spec.template.topologyConstraint.topologyName", `"other"`,
		`must equal spec.template.clusterTopologyName, "grove-topology"`},
	"set-asks-for-no-level": {
		"spec.template.topologyConstraint", `"region"`, "spec.template.cliques[0].topologyConstraint", `"numa"`,
		"available domains: zone, block, rack, host",
	},
	"set-asks-for-no-domain": {"spec.template.topologyConstraint", `"row"`,
		"available domains: zone, block, rack, host"},
	"set-with-everything-wrong": {
		`spec.template.topologyConstraint: Invalid value: "rack": clique "a" requires block`,
		`spec.template.topologyConstraint: Invalid value: "rack": clique "c" requires zone`,
		`spec.template.topologyConstraint: Invalid value: "rack": scaling group "g" requires zone`,
		"spec.template.cliques[1].topologyConstraint",
		"the preferred domain must not be broader than the required one, host",
		"spec.template.cliques[2].topologyConstraint", "packDomain means pack.required: give only one of them",
	},
	"set-changed": {
		"spec.template.topologyConstraint: Forbidden", "spec.template.cliques[0].topologyConstraint: Forbidden",
		"spec.template.cliques[1].topologyConstraint: Forbidden",
		"spec.template.podCliqueScalingGroups[0].topologyConstraint: Forbidden",
		"delete the PodCliqueSet and create it anew",
	},
	"hold-misspelt": {"metadata.annotations[packtree.dev/missing-topology-level]", `"Hold"`, `"drop", "hold"`},
}

// TestBadInput applies objects that must be refused: at once, with every finding and its path, and leaving nothing
// behind.
func TestBadInput(t *testing.T) {
	w := newWorld(false)
	files, err := filepath.Glob(filepath.Join("testdata", "badinput", "*.yaml"))
	if err != nil || len(files) != len(refusals) {
		t.Fatalf("%d files for %d cases: %v", len(files), len(refusals), err)
	}
	feature := features.New("bad input").
		Setup(w.InNamespace).
		Setup(w.Applies("fixed.yaml"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		feature.Assess(name, w.TurnedDown(filepath.Join("badinput", name+".yaml"), refusals[name]...))
	}
	cluster.Test(t, feature.
		Assess("the default topology's name is the operator's", w.Refused(
			[]string{"metadata.name", "reserved", "topologyAwareScheduling.levels"}, "create", "--dry-run=server", "-f",
			w.File(t, "reserved.yaml"))).
		Assess("nothing is there but what was", w.nothingIsBad).
		Teardown(w.remove))
}

func (w *world) nothingIsBad(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	var topologies grove.ClusterTopologyList
	w.Must(ctx, t, cluster.List(ctx, &topologies))
	for i := range topologies.Items {
		if topologies.Items[i].Name == "bad" {
			t.Errorf("there is a ClusterTopology %q", topologies.Items[i].Name)
		}
	}
	var sets grove.PodCliqueSetList
	w.Must(ctx, t, cluster.List(ctx, &sets, client.InNamespace(w.Name)))
	if len(sets.Items) != 1 || sets.Items[0].Generation != 1 {
		t.Errorf("there are %d sets, of generation %d\n%s", len(sets.Items), sets.Items[0].Generation, w.Report(ctx))
	}
	return ctx
}

// TestWarnings applies objects that are accepted and do not do what they seem to.
func TestWarnings(t *testing.T) {
	w := newWorld(false)
	cluster.Test(t, features.New("warnings").
		Setup(w.InNamespace).
		Setup(w.Applies("numa.yaml")).
		Assess("nobody has the label of the narrowest level",
			w.Reads("0", "ct", w.Name+"-numa", "{.status.levels[2].nodes}")).
		Assess("who asks for it is warned, and what is enforced", w.isWarned("in-a-numa-zone.yaml",
			"Warning: spec.template.cliques[0].topologyConstraint: NUMA zones are not distinguished yet: "+
				"what is enforced is that the pods stand on one host",
			"Warning: spec.template.cliques[0].topologyConstraint: no node carries label "+w.Name+
				"/numa of level numa of ClusterTopology",
			"podcliqueset.grove.io/in-a-numa-zone created")).
		Teardown(w.remove))
}

func (w *world) isWarned(
	file string, says ...string,
) func(context.Context, *testing.T, *envconf.Config) context.Context {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		suite.MustSay(t, w.Answer(ctx, t, "apply", "-f", w.File(t, file)), says...)
		return ctx
	}
}
