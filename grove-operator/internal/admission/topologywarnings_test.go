package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const (
	noRack = `no node carries label example.com/rack of level rack of ClusterTopology "gb": the pods wait until one does`
	noHost = `no node stands in a host of ClusterTopology "gb", for none carries all of the labels example.com/zone, example.com/rack, example.com/host: the pods wait until one does`
	noNuma = `no node carries label example.com/numa of level numa of ClusterTopology "gb": the pods wait until one does`

	numaEnforced   = "NUMA zones are not distinguished yet: what is enforced is that the pods stand on one host"
	numaPreferred  = "NUMA zones are not distinguished yet: what is preferred is that the pods stand on one host"
	numaOfTheLabel = "NUMA zones are not distinguished yet: what is enforced is that the pods stand on nodes with " +
		"one value of label example.com/numa"
)

// labelled is topology gb with its levels, and their status.
func labelled(
	domains []grovev1alpha1.TopologyDomain, status ...grovev1alpha1.TopologyLevelStatus,
) *grovev1alpha1.ClusterTopology {
	made := fixture.Topology("gb", domains...)
	made.Generation, made.Status.ObservedGeneration = 2, 2
	made.Status.Levels = status
	return made
}

func TestWarningsOfTopology(t *testing.T) {
	type domains = []grovev1alpha1.TopologyDomain
	type level = grovev1alpha1.TopologyLevelStatus
	all := domains{"zone", "rack", "host"}
	zones := level{Domain: "zone", Nodes: 8, DomainCount: 2}
	outdated := labelled(all, zones, level{Domain: "rack"}, level{Domain: "host"})
	outdated.Status.ObservedGeneration = 1
	for name, c := range map[string]struct {
		topology *grovev1alpha1.ClusterTopology
		template string
		want     []string
	}{
		"levels in which nodes stand": {
			topology: labelled(all, zones, level{Domain: "rack", Nodes: 8, DomainCount: 4}, level{Domain: "host"}),
			template: "topologyConstraint: {packDomain: zone}, cliques: [" +
				constrained("a", "{packDomain: rack}") + "]",
		},
		"a required level that no node carries, where it is required": {
			topology: labelled(all, zones, level{Domain: "rack"}, level{Domain: "host", Nodes: 8}),
			template: "topologyConstraint: {packDomain: zone}, cliques: [" +
				constrained("a", "{pack: {required: rack}}") + "]",
			want: []string{"spec.template.cliques[0].topologyConstraint: " + noRack},
		},
		"a level that nodes carry, none of them with those above": {
			topology: labelled(all, zones, level{Domain: "rack"}, level{Domain: "host", Nodes: 8}),
			template: "cliques: [" + constrained("a", "{packDomain: host}") + "]",
			want:     []string{"spec.template.cliques[0].topologyConstraint: " + noHost},
		},
		"a preferred level may be missing": {
			topology: labelled(all, zones, level{Domain: "rack"}, level{Domain: "host"}),
			template: "topologyConstraint: {pack: {required: zone, preferred: rack}}, cliques: [" + one("a", "") + "]",
		},
		"what several have in common is said once": {
			topology: labelled(all, zones, level{Domain: "rack"}, level{Domain: "host"}),
			template: "topologyConstraint: {packDomain: rack}, cliques: [" + constrained("a", "{packDomain: rack}") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], topologyConstraint: {packDomain: rack}}]",
			want: []string{"spec.template.topologyConstraint and 2 more: " + noRack},
		},
		"nobody has looked at nodes yet": {
			topology: labelled(all), template: "topologyConstraint: {packDomain: rack}, cliques: [" +
				one("a", "") + "]",
		},
		"nobody has looked since the levels changed": {
			topology: outdated, template: "topologyConstraint: {packDomain: rack}, cliques: [" + one("a", "") + "]",
		},
		"numa, required and preferred": {
			topology: labelled(domains{"rack", "host", "numa"}),
			template: "topologyConstraint: {pack: {required: rack, preferred: numa}}, cliques: [" +
				constrained("a", "{packDomain: numa}") + "]",
			want: []string{"spec.template.topologyConstraint: " + numaPreferred,
				"spec.template.cliques[0].topologyConstraint: " + numaEnforced},
		},
		"numa where the topology has no hosts": {
			topology: labelled(domains{"rack", "numa"}),
			template: "topologyConstraint: {packDomain: numa}, cliques: [" + one("a", "") + "]",
			want:     []string{"spec.template.topologyConstraint: " + numaOfTheLabel},
		},
		"numa that no node carries": {
			topology: labelled(domains{"host", "numa"}, level{Domain: "host", Nodes: 8, DomainCount: 8},
				level{Domain: "numa"}),
			template: "topologyConstraint: {packDomain: numa}, cliques: [" + one("a", "") + "]",
			want: []string{"spec.template.topologyConstraint: " + numaEnforced,
				"spec.template.topologyConstraint: " + noNuma},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest("s", "clusterTopologyName: gb, "+c.template))
			warnings, errs := admission.ValidateCreate(set,
				admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(c.topology)})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if diff := cmp.Diff(c.want, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASetIsWarnedWhenItTurnsToAnotherTopologyAndNotWhenItScales(t *testing.T) {
	empty := labelled([]grovev1alpha1.TopologyDomain{"rack"}, grovev1alpha1.TopologyLevelStatus{Domain: "rack"})
	other := empty.DeepCopy()
	other.Name = "other"
	within := admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(empty, other)}
	old := fixture.Set(t,
		manifest("s", "clusterTopologyName: other, topologyConstraint: {packDomain: rack}, cliques: ["+one(
			"a", "")+"]"))
	turned, scaled := old.DeepCopy(), old.DeepCopy()
	turned.Spec.Template.ClusterTopologyName = "gb"
	scaled.Spec.Replicas = 7
	warnings, errs := admission.ValidateUpdate(old, turned, within, 0)
	if diff := cmp.Diff([]string{"spec.template.topologyConstraint: " + noRack}, warnings); diff != "" ||
		len(errs) > 0 {
		t.Errorf("another topology: errors %v, warnings (-want +got):\n%s", errs, diff)
	}
	if warnings, errs := admission.ValidateUpdate(old, scaled, within, 0); len(warnings)+len(errs) > 0 {
		t.Errorf("another number of replicas: warnings %q, errors %v", warnings, errs)
	}
}
