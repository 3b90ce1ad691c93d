package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// roles is a template of a clique a of two pods, and groups p of three copies and q of two, with constraints and
// spreads.
func roles(ofSet, ofA, ofP string) string {
	return ofSet + ` cliques: [
  {name: a, ` + ofA + ` spec: {replicas: 2, podSpec: {containers: [{name: main}]}}}, ` + one("b", "") + `, ` + one("c", "") + `],
podCliqueScalingGroups: [{name: p, cliqueNames: [b], replicas: 3, ` + ofP + `}, {name: q, cliqueNames: [c], replicas: 2}]`
}

func TestSpreadsThatAreRefused(t *testing.T) {
	const whole, clique, group = "spec.template.topologySpread[0]", "spec.template.cliques[0].topologySpread[0]",
		"spec.template.podCliqueScalingGroups[0].topologySpread[0]"
	for name, c := range map[string]struct {
		ofSet, ofA, ofP string
		unaware         bool
		want            string
	}{
		"copies apart": {ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],"},
		"copies apart inside of a zone": {ofSet: "topologyConstraint: {packDomain: zone},",
			ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],"},
		"replicas apart, each in a zone": {
			ofSet: "topologyConstraint: {packDomain: zone}, topologySpread: [{domain: zone, maxPerDomain: 1}],",
		},
		"near another set's gang": {ofSet: "topologySpread: [{domain: rack, near: t-0}],",
			ofA: "topologySpread: [{domain: rack, near: s-0-x}],"},
		"near one in the same rack": {ofSet: "topologyConstraint: {packDomain: rack},",
			ofP: "topologySpread: [{domain: rack, near: t-0}],"},
		"near a set of a like name": {ofSet: "topologySpread: [{domain: rack, near: s-a-0}],",
			ofP: "topologySpread: [{domain: rack, near: s-0-0}],"},
		"near a copy of a like name": {ofSet: "topologySpread: [{domain: rack, near: s-0-p-x}],",
			ofP: "topologySpread: [{domain: rack, near: s-00}],"},
		"near itself": {
			ofSet: "topologySpread: [{domain: rack, near: s-0}],",
			want:  whole + `.near: Invalid value: "s-0": is a gang of this set: name another's, or use a topologyConstraint`,
		},
		"near another replica": {ofA: "topologySpread: [{domain: rack, near: s-7}],",
			want: clique + `.near: Invalid value: "s-7": is a gang of this set`},
		"near a copy of its own": {ofP: "topologySpread: [{domain: rack, near: s-0-q-12}],",
			want: group + `.near: Invalid value: "s-0-q-12": is a gang of this set`},
		"near and apart in one": {
			ofP:  "topologySpread: [{domain: rack, maxPerDomain: 1, near: t-0}],",
			want: group + `: Invalid value: "maxPerDomain, near": exactly one of`,
		},
		"among some near a gang": {
			ofSet: "topologySpread: [{domain: rack, among: [p], near: t-0}],",
			want: whole +
				`.near: Invalid value: "t-0": contradicts spec.template.topologySpread[0].among: it is for all gangs of the set; for copies of one scaling group set it there`,
		},
		"near what is no name": {ofP: "topologySpread: [{domain: rack, near: Store 0}],",
			want: group + `.near: Invalid value: "Store 0": is no name of a PodGroup: a lowercase RFC 1123`},
		"near by no such level": {ofP: "topologySpread: [{domain: numa, near: t-0}],",
			want: group + `.domain: Invalid value: "numa": not a level`},
		"two bounds": {
			ofP:  "topologySpread: [{domain: rack, maxPerDomain: 1, even: true}],",
			want: group + `: Invalid value: "maxPerDomain, even": exactly one of`,
		},
		"no bound": {ofA: "topologySpread: [{domain: rack}],",
			want: clique + `: Invalid value: "": exactly one of maxPerDomain,`},
		"even switched off": {ofA: "topologySpread: [{domain: rack, even: false}],",
			want: clique + `: Invalid value: "": exactly one of`},
		"none per domain": {ofP: "topologySpread: [{domain: rack, maxPerDomain: 0}],",
			want: group + `.maxPerDomain: Invalid value: 0: must be at least 1`},
		"evenly, or not at all": {ofP: "topologySpread: [{domain: rack, even: true}],",
			want: group + `.even: Invalid value: true: can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain`},
		"rather evenly, in one rack": {
			ofSet: "topologyConstraint: {packDomain: rack},",
			ofP:   "topologySpread: [{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}],",
		},
		"more than all": {ofP: "topologySpread: [{domain: rack, maxPercentPerDomain: 101}],",
			want: group + `.maxPercentPerDomain: Invalid value: 101: must be at most 100`},
		"no domain": {ofP: "topologySpread: [{maxPerDomain: 1}],",
			want: group + `.domain: Required value: name the domain by which copies are counted`},
		"among copies of a group": {ofP: "topologySpread: [{domain: rack, among: [q], maxPerDomain: 1}],",
			want: group + `.among: Forbidden: is for spec.template.topologySpread alone: here the items are copies`},
		"among what does not exist": {
			ofSet: "topologySpread: [{domain: rack, among: [p, qu], maxPerDomain: 1}],",
			want:  whole + `.among[1]: Invalid value: "qu": there is no such scaling group or standalone clique`,
		},
		"among a clique of a group": {
			ofSet: "topologySpread: [{domain: rack, among: [p, c], maxPerDomain: 1}],",
			want:  whole + `.among[1]: Invalid value: "c": the clique scales with its scaling group: name "q"`,
		},
		"among pods": {
			ofSet: "topologySpread: [{domain: rack, among: [p, a], maxPerDomain: 1}],",
			want:  whole + `.among[1]: Invalid value: "a": the clique has 2 pods, which are no copies`,
		},
		"twice": {ofSet: "topologySpread: [{domain: rack, among: [p, p], maxPerDomain: 1}],",
			want: whole + `.among[1]: Duplicate value: "p"`},
		"no such level": {
			ofP: "topologySpread: [{domain: numa, maxPerDomain: 1}],",
			want: group +
				`.domain: Invalid value: "numa": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
		},
		"no such topology": {
			ofSet: "clusterTopologyName: other,", ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],",
			want: group + `.domain: Invalid value: "rack": there is no ClusterTopology "other"`,
		},
		"a topology for spreads alone": {ofSet: "clusterTopologyName: gb,",
			ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],"},
		"topology awareness is off": {
			ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],", unaware: true,
			want: group + `: Forbidden: topology awareness is off`,
		},
		"copies apart in one rack": {
			ofSet: "topologyConstraint: {packDomain: rack},", ofP: "topologySpread: [{domain: rack, maxPerDomain: 1}],",
			want: group +
				`.maxPerDomain: Invalid value: 1: contradicts spec.template.topologyConstraint, by which all 3 copies stand in one rack: ` +
				`spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway`,
		},
		"copies apart by rack in one host": {
			ofSet: "topologyConstraint: {packDomain: host},",
			ofP:   "topologySpread: [{domain: rack, maxPercentPerDomain: 60}],",
			want: group +
				`.maxPercentPerDomain: Invalid value: 2: contradicts spec.template.topologyConstraint, by which all 3 copies stand in one host`,
		},
		"rather apart in one rack": {
			ofSet: "topologyConstraint: {packDomain: rack},",
			ofP:   "topologySpread: [{domain: rack, maxPerDomain: 1, whenUnsatisfiable: ScheduleAnyway}],",
		},
		"apart where one rack is preferred": {
			ofSet: "topologyConstraint: {pack: {preferred: rack}},",
			ofP:   "topologySpread: [{domain: rack, maxPerDomain: 1}],",
		},
		"roles apart in one rack": {
			ofSet: "topologyConstraint: {packDomain: rack}, topologySpread: [{domain: rack, among: [p, q], maxPerDomain: 4}],",
			want: whole +
				`.maxPerDomain: Invalid value: 4: contradicts spec.template.topologyConstraint, by which all 5 copies`,
		},
		"pods apart by host in one host": {
			ofA: "topologyConstraint: {packDomain: host}, topologySpread: [{domain: host, maxPerDomain: 1}],",
			want: clique +
				`.maxPerDomain: Invalid value: 1: contradicts spec.template.cliques[0].topologyConstraint, by which all 2 pods stand in one host`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := cluster()
			world.TopologyAware = !c.unaware
			set := fixture.Set(t, manifest("s", roles(c.ofSet, c.ofA, c.ofP)))
			_, errs := admission.ValidateCreate(set, world)
			got := errs.ToAggregate()
			if c.want == "" && got != nil || c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)) {
				t.Errorf("got %v\nwant %s", got, c.want)
			}
		})
	}
}

// A domain in which items are apart contradicts a shared domain unless the shared one is broader: all pairs are tried.
func TestASpreadContradictsEachConstraintThatIsNoBroader(t *testing.T) {
	all := domains.All()
	var levels []grovev1alpha1.TopologyDomain
	for _, domain := range all {
		levels = append(levels, grovev1alpha1.TopologyDomain(domain))
	}
	everything := admission.Cluster{TopologyAware: true,
		Lookup: fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, levels...))}
	for i, shared := range all {
		for j, apart := range all {
			constraint, spread := fmt.Sprintf("topologyConstraint: {packDomain: %s},", shared),
				fmt.Sprintf("topologySpread: [{domain: %s, maxPerDomain: 1}],", apart)
			for where, template := range map[string]string{
				"copies in a set":      roles(constraint, "", spread),
				"pods in a set":        roles(constraint, spread, ""),
				"pods in their clique": roles("", constraint+spread, ""),
				"several roles in one": roles(
					constraint+fmt.Sprintf("topologySpread: [{domain: %s, among: [p, q], maxPerDomain: 1}],", apart),
					"", ""),
				"pods in a copy": "cliques: [{name: b, " + spread +
					" spec: {replicas: 2, podSpec: {containers: [{name: main}]}}}], podCliqueScalingGroups: [{name: p, " +
					"cliqueNames: [b], " + strings.TrimSuffix(constraint, ",") + "}]",
				"replicas, never in it": roles(constraint+spread, "", ""),
			} {
				_, errs := admission.ValidateCreate(fixture.Set(t, manifest("s", template)), everything)
				contradicts := i >= j && where != "replicas, never in it"
				assert.Equal(t, contradicts, len(errs) > 0,
					"%s: apart by %s within one %s: %v", where, apart, shared, errs)
			}
		}
	}
}

func TestSpreadsThatSayNothingAreWarnedOf(t *testing.T) {
	const group = "spec.template.podCliqueScalingGroups[0].topologySpread[0]"
	for spread, want := range map[string][]string{
		"{domain: rack, maxPerDomain: 1}": nil,
		"{domain: rack, maxPerDomain: 3}": {
			group + ".maxPerDomain: has no effect: there are 3 copies, and 3 may stand in one rack",
		},
		"{domain: rack, maxPercentPerDomain: 100}": {
			group + ".maxPercentPerDomain: has no effect: there are 3 copies, and 3 may stand in one rack",
		},
		"{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}": nil,
		"{domain: rack, near: t-0}":                                     nil,
	} {
		warnings, errs := admission.ValidateCreate(
			fixture.Set(t, manifest("s", roles("", "", "topologySpread: ["+spread+"],"))), cluster())
		assert.Empty(t, cmp.Diff(want, warnings), "%s (-want +got)", spread)
		assert.Empty(t, errs, spread)
	}
	warnings, _ := admission.ValidateCreate(
		fixture.Set(t, manifest("s", roles("topologySpread: [{domain: zone, maxPerDomain: 1}],", "", ""))), cluster())
	assert.Empty(t, cmp.Diff([]string{"spec.template.topologySpread[0]: has no effect with 1 replicas"},
		warnings), "(-want +got)")
}

// A spread may change, unlike a constraint, and the changed set is validated.
func TestSpreadsChange(t *testing.T) {
	set := func(template string) *grovev1alpha1.PodCliqueSet { return fixture.Set(t, manifest("s", template)) }
	apart := roles("topologyConstraint: {packDomain: zone},", "", "topologySpread: [{domain: rack, maxPerDomain: 1}],")
	for name, c := range map[string]struct {
		old, changed string
		want         int
	}{
		"a new bound":              {apart, strings.Replace(apart, "maxPerDomain: 1", "maxPerDomain: 2", 1), 0},
		"a level that contradicts": {apart, strings.Replace(apart, "domain: rack", "domain: zone", 1), 1},
		"as wrong as it was": {
			strings.Replace(apart, "domain: rack", "domain: zone", 1),
			strings.Replace(strings.Replace(apart, "domain: rack", "domain: zone", 1), "replicas: 2, podSpec",
				"replicas: 3, minAvailable: 2, podSpec", 1), 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := admission.ValidateUpdate(set(c.old), set(c.changed), cluster(), 5)
			assert.Len(t, errs, c.want)
		})
	}
}
