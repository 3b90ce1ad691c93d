package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func set(t *testing.T, template string) *grovev1alpha1.PodCliqueSet {
	t.Helper()
	return fixture.Set(t, "metadata: {name: s}\nspec: {template: "+template+"}")
}

func TestNameFor(t *testing.T) {
	for name, c := range map[string]struct{ template, want string }{
		"a set without constraints refers to none": {"{cliques: [{name: a, spec: {podSpec: {}}}]}", ""},
		"a constraint anywhere refers to the default": {
			"{cliques: [{name: a, topologyConstraint: {packDomain: rack}, spec: {podSpec: {}}}]}",
			grovev1alpha1.DefaultClusterTopologyName,
		},
		"the set's word counts most": {
			"{clusterTopologyName: x, topologyConstraint: {packDomain: rack, topologyName: other}, cliques: [{name: a, spec: " +
				"{podSpec: {}}}]}", "x",
		},
		"a constraint may name it as well": {
			"{cliques: [{name: a, spec: {podSpec: {}}}], podCliqueScalingGroups: [{name: g, cliqueNames: [a], " +
				"topologyConstraint: {packDomain: rack, topologyName: other}}]}", "other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, topology.NameFor(set(t, c.template)), "topology")
		})
	}
}

const rackAndZone = "{topologyConstraint: {pack: {required: zone, preferred: rack}}, cliques: [{name: a, " +
	"topologyConstraint: {packDomain: rack}, spec: {podSpec: {}}}]}"

func TestResolveSaysWhatIsMissing(t *testing.T) {
	const name = grovev1alpha1.DefaultClusterTopologyName
	for title, c := range map[string]struct {
		template string
		cluster  []*grovev1alpha1.ClusterTopology
		status   metav1.ConditionStatus
		reason   string
	}{
		"no constraint": {
			"{cliques: [{name: a, spec: {podSpec: {}}}]}", nil,
			metav1.ConditionFalse, grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable,
		},
		"no topology": {rackAndZone, nil, metav1.ConditionUnknown, grovev1alpha1.ReasonClusterTopologyNotFound},
		"all levels are there": {
			rackAndZone, []*grovev1alpha1.ClusterTopology{fixture.Topology(name, "zone", "block", "rack")},
			metav1.ConditionFalse, grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable,
		},
		"a level went away": {
			rackAndZone, []*grovev1alpha1.ClusterTopology{fixture.Topology(name, "zone", "host")},
			metav1.ConditionTrue, grovev1alpha1.ReasonClusterTopologyLevelsUnavailable,
		},
	} {
		t.Run(title, func(t *testing.T) {
			condition := topology.Resolve(set(t, c.template), fixture.Lookup(c.cluster...)).Condition(7)
			got := []any{condition.Type, condition.Status, condition.Reason, condition.ObservedGeneration}
			want := []any{grovev1alpha1.ConditionTopologyLevelsUnavailable, c.status, c.reason, int64(7)}
			assert.Empty(t, cmp.Diff(want, got), "condition (-want +got)")
		})
	}
}

func TestMissingDomainsAreListedBroadestFirst(t *testing.T) {
	resolved := topology.Resolve(set(t, rackAndZone),
		fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "host")))
	assert.Empty(t, cmp.Diff([]grovev1alpha1.TopologyDomain{"zone", "rack"}, resolved.Missing), "missing (-want +got)")
}

func TestTranslate(t *testing.T) {
	resolved := topology.Resolve(set(t, rackAndZone),
		fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "host")))
	pack := func(required, preferred grovev1alpha1.TopologyDomain) *grovev1alpha1.TopologyConstraint {
		return &grovev1alpha1.TopologyConstraint{Pack: &grovev1alpha1.TopologyPack{Required: required,
			Preferred: preferred}}
	}
	for name, c := range map[string]struct {
		constraint          *grovev1alpha1.TopologyConstraint
		none                bool
		required, preferred string
	}{
		"none stays none": {none: true},
		"packDomain is required": {constraint: &grovev1alpha1.TopologyConstraint{PackDomain: "zone"},
			required: "example.com/zone"},
		"both forms": {constraint: pack("zone", "host"), required: "example.com/zone",
			preferred: "example.com/host"},
		"the part that is missing": {constraint: pack("zone", "rack"), required: "example.com/zone"},
		"all of it is missing":     {constraint: pack("rack", "rack"), none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := resolved.Translate(c.constraint)
			if got == nil || c.none {
				require.Equal(t, c.none, got == nil, "translated to %v", got)
				return
			}
			keys := []string{value(got.PackConstraint.Required), value(got.PackConstraint.Preferred)}
			assert.Empty(t, cmp.Diff([]string{c.required, c.preferred}, keys), "required, preferred (-want +got)")
		})
	}
}

func value(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

func TestKeyProblem(t *testing.T) {
	const hostname = "kubernetes.io/hostname"
	levels := func(domainsAndKeys ...string) (made []grovev1alpha1.TopologyLevel) {
		for i := 0; i < len(domainsAndKeys); i += 2 {
			made = append(made, grovev1alpha1.TopologyLevel{Domain: grovev1alpha1.TopologyDomain(domainsAndKeys[i]),
				Key: domainsAndKeys[i+1]})
		}
		return made
	}
	for name, c := range map[string]struct {
		levels []grovev1alpha1.TopologyLevel
		wrong  []string
	}{
		"hosts are the narrowest":            {levels: levels("rack", "a/rack", "host", hostname)},
		"numa is below hosts":                {levels: levels("host", hostname, "numa", "a/Numa-Zone")},
		"numa without hosts":                 {levels: levels("rack", "a/rack", "numa", "a/socket")},
		"numa below hosts of another label":  {levels: levels("host", "a/host", "numa", "a/socket")},
		"numa by its domain, not by its key": {levels: levels("numa", "a/socket", "host", hostname)},
		"racks that are single hosts": {levels: levels("host", "a/host", "rack", hostname),
			wrong: []string{hostname}},
		"racks that are hosts, and no other": {levels: levels("zone", "a/zone", "rack", hostname)},
		"numa zones that are hosts": {levels: levels("host", "a/host", "numa", hostname),
			wrong: []string{hostname}},
	} {
		t.Run(name, func(t *testing.T) {
			var wrong []string
			for _, level := range c.levels {
				if topology.KeyProblem(level, c.levels, domains.All()) != "" {
					wrong = append(wrong, level.Key)
				}
			}
			assert.Empty(t, cmp.Diff(c.wrong, wrong), "keys with a problem (-want +got)")
		})
	}
}

func TestTheSchedulerFindsZonesBelowSingleHosts(t *testing.T) {
	type level = kaiv1alpha1.TopologyLevel
	hosts, zones := level{NodeLabel: "kubernetes.io/hostname"}, level{NodeLabel: "a/socket", Alias: "numa"}
	of := func(domain grovev1alpha1.TopologyDomain, key string) grovev1alpha1.TopologyLevel {
		return grovev1alpha1.TopologyLevel{Domain: domain, Key: key}
	}
	for name, c := range map[string]struct {
		above []grovev1alpha1.TopologyLevel
		want  []level
	}{
		"no level above": {want: []level{hosts, zones}},
		"hosts above":    {above: []grovev1alpha1.TopologyLevel{of("host", hosts.NodeLabel)}, want: []level{hosts, zones}},
		"racks that are single hosts above": {
			above: []grovev1alpha1.TopologyLevel{of("rack", hosts.NodeLabel)}, want: []level{hosts, zones}},
		"racks above": {above: []grovev1alpha1.TopologyLevel{of("rack", "a/rack")},
			want: []level{{NodeLabel: "a/rack"}, hosts, zones}},
		"hosts of another label above": {above: []grovev1alpha1.TopologyLevel{of("host", "a/host")},
			want: []level{{NodeLabel: "a/host"}, hosts, zones}},
	} {
		t.Run(name, func(t *testing.T) {
			described := fixture.Topology("t")
			described.Spec.Levels = append(c.above, of("numa", zones.NodeLabel))
			assert.Empty(t, cmp.Diff(c.want, topology.ForScheduler(topology.Of(described)).Spec.Levels),
				"levels (-want +got)")
		})
	}
}

func TestDefaultStoresLevelsBroadestFirst(t *testing.T) {
	made := topology.Default(groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{
		Enabled: true,
		Levels: []groveconfigv1alpha1.TopologyLevel{{Domain: "host", Key: "h"}, {Domain: "zone", Key: "z"},
			{Domain: "rack", Key: "r"}},
	})
	if got, want := topology.DomainList(topology.Of(made)), "zone,rack,host"; got != want {
		t.Errorf("levels %s, want %s", got, want)
	}
	var labels []string
	for _, level := range topology.ForScheduler(topology.Of(made)).Spec.Levels {
		labels = append(labels, level.NodeLabel)
	}
	assert.Empty(t, cmp.Diff([]string{"z", "r", "h"}, labels), "levels of the scheduler's Topology (-want +got)")
	assert.Nil(t, topology.Default(groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{}),
		"there is a default topology although topology awareness is off")
}

func TestConditionSaysWhatFollows(t *testing.T) {
	const name = grovev1alpha1.DefaultClusterTopologyName
	without := fixture.Topology(name, "zone")
	for title, c := range map[string]struct {
		policy  string
		cluster []*grovev1alpha1.ClusterTopology
		words   string
		awaited string
	}{
		"dropped": {
			cluster: []*grovev1alpha1.ClusterTopology{without},
			words:   `ClusterTopology "grove-topology" has no level rack, so that constraints on it are not enforced`,
		},
		"dropped in words": {
			policy: "drop",
			words:  `ClusterTopology "grove-topology" does not exist, so that the topology constraints are not enforced; enable topologyAwareScheduling in grove-operator's configuration`,
		},
		"held": {
			policy: "hold", cluster: []*grovev1alpha1.ClusterTopology{without},
			words:   `ClusterTopology "grove-topology" has no level rack, so that pods which are on no node wait (packtree.dev/missing-topology-level: hold)`,
			awaited: "level rack of ClusterTopology grove-topology",
		},
		"held without a topology": {
			policy:  "hold",
			words:   `ClusterTopology "grove-topology" does not exist, so that pods which are on no node wait (packtree.dev/missing-topology-level: hold); enable topologyAwareScheduling in grove-operator's configuration`,
			awaited: "ClusterTopology grove-topology",
		},
		"nothing to hold for": {
			policy: "hold", cluster: []*grovev1alpha1.ClusterTopology{fixture.Topology(name, "zone", "rack")},
			words: `every domain in use is a level of ClusterTopology "grove-topology"`,
		},
	} {
		t.Run(title, func(t *testing.T) {
			asking := set(t, rackAndZone)
			asking.Annotations = map[string]string{grovev1alpha1.AnnotationMissingTopologyLevel: c.policy}
			resolved := topology.Resolve(asking, fixture.Lookup(c.cluster...))
			got := []string{resolved.Condition(1).Message, resolved.Awaited()}
			assert.Empty(t, cmp.Diff([]string{c.words, c.awaited}, got), "words, awaited (-want +got)")
		})
	}
}
