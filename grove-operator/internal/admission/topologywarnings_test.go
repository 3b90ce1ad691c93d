package admission_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const (
	noRack = `no node carries label example.com/rack of level rack of ClusterTopology "gb": the pods wait until one does`
	noHost = `no node stands in a host of ClusterTopology "gb", for none carries all of the labels example.com/zone, example.com/rack, example.com/host: the pods wait until one does`

	numaIdle = "a kubelet takes from one NUMA zone the devices of device plugins, and whole CPUs of Guaranteed pods: " +
		"neither is asked for by "
	numaPredicted = "the kubelet chooses the NUMA zone pod by pod, so that one zone for all %d pods is a prediction: " +
		"see docs/guides/numa-zones.md"
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
		"the nodes have not been read yet": {
			topology: labelled(all), template: "topologyConstraint: {packDomain: rack}, cliques: [" +
				one("a", "") + "]",
		},
		"the nodes have not been read since the levels changed": {
			topology: outdated, template: "topologyConstraint: {packDomain: rack}, cliques: [" + one("a", "") + "]",
		},
		"numa that no node carries, for one pod with a device": {
			topology: labelled(domains{"host", "numa"}, level{Domain: "host", Nodes: 8, DomainCount: 8}),
			template: "topologyConstraint: {packDomain: numa}, cliques: [" + asking("a", 1, "nvidia.com/gpu: 2") + "]",
		},
		"numa preferred is no reason to wait": {
			topology: labelled(domains{"rack", "numa"}),
			template: "topologyConstraint: {pack: {required: rack, preferred: numa}}, cliques: [" + one("a", "") + "]",
		},
		"numa of several pods, at each place": {
			topology: labelled(domains{"numa"}),
			template: "topologyConstraint: {packDomain: numa}, cliques: [{topologyConstraint: {packDomain: numa}, " +
				asking("a", 3, "nvidia.com/gpu: 2")[1:] + "," + asking("b", 1, "cpu: 1") + "," +
				asking("c", 1, "cpu: 1") + "], podCliqueScalingGroups: [{name: g, replicas: 4, " +
				"cliqueNames: [b, c], topologyConstraint: {packDomain: numa}}]",
			want: []string{
				"spec.template.topologyConstraint and 1 more: " + numaIdle + "b, c",
				"spec.template.topologyConstraint: " + fmt.Sprintf(numaPredicted, 11),
				"spec.template.cliques[0].topologyConstraint: " + fmt.Sprintf(numaPredicted, 3),
				"spec.template.podCliqueScalingGroups[0].topologyConstraint: " + fmt.Sprintf(numaPredicted, 2),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest("s", "clusterTopologyName: gb, "+c.template))
			warnings, errs := admission.ValidateCreate(set,
				admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(c.topology)})
			require.Empty(t, errs)
			assert.Empty(t, cmp.Diff(c.want, warnings), "warnings (-want +got)")
		})
	}
}

// asking is a clique with pods of these limits.
func asking(name string, pods int, limits string) string {
	return fmt.Sprintf("{name: %s, spec: {replicas: %d, podSpec: {containers: [{name: main, resources: "+
		"{limits: {%s}}}]}}}", name, pods, limits)
}

func TestPodsThatNoKubeletAligns(t *testing.T) {
	const cpus = "limits: {cpu: 4, memory: 8Gi}"
	container := func(resources string) string { return "containers: [{name: a, resources: {" + resources + "}}]" }
	for name, c := range map[string]struct {
		podSpec string
		aligned bool
	}{
		"nothing":                        {podSpec: container("")},
		"a device":                       {container("limits: {nvidia.com/gpu: 1}"), true},
		"no device":                      {podSpec: container("limits: {nvidia.com/gpu: 0}")},
		"whole CPUs of a Guaranteed pod": {container(cpus), true},
		"part of a CPU":                  {podSpec: container("limits: {cpu: 1500m, memory: 8Gi}")},
		"hugepages":                      {podSpec: container("limits: {hugepages-2Mi: 4Mi}")},
		"no memory":                      {podSpec: container("limits: {cpu: 4}")},
		"smaller requests":               {podSpec: container("requests: {cpu: 2}, " + cpus)},
		"resources of the pod":           {podSpec: "resources: {" + cpus + "}, " + container(cpus)},
		"a claim":                        {podSpec: "resourceClaims: [{name: c, resourceClaimName: c}], " + container("")},
		"another container without resources": {
			podSpec: "initContainers: [{name: b}], " + container(cpus)},
		"a small container beside": {
			"initContainers: [{name: b, resources: {limits: {cpu: 50m, memory: 64Mi}}}], " + container(cpus), true},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest("s", "clusterTopologyName: gb, cliques: [{name: a, topologyConstraint: "+
				"{packDomain: numa}, spec: {podSpec: {"+c.podSpec+"}}}]"))
			warnings, errs := admission.ValidateCreate(set,
				admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(fixture.Topology("gb", "numa"))})
			want := []string{"spec.template.cliques[0].topologyConstraint: " + numaIdle + "a"}
			if c.aligned {
				want = []string{}
			}
			assert.Empty(t, cmp.Diff(want, warnings, cmpopts.EquateEmpty()), "warnings (-want +got)")
			assert.Empty(t, errs)
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
	assert.Empty(t, cmp.Diff([]string{"spec.template.topologyConstraint: " + noRack}, warnings),
		"another topology (-want +got)")
	assert.Empty(t, errs, "another topology")
	warnings, errs = admission.ValidateUpdate(old, scaled, within, 0)
	assert.Empty(t, warnings, "another number of replicas")
	assert.Empty(t, errs, "another number of replicas")
}
