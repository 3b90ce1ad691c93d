package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/shared/domains"

	"packtree.dev/dynamo-operator/internal/admission"
)

const oneOfFour = "exactly one of maxPerDomain, maxPercentPerDomain, even and near must be given; write a spread for each"

func TestSpreads(t *testing.T) {
	const three = "[{name: A, replicas: 3, %s}, {name: B, multinode: {nodeCount: 2}, replicas: 2}, {name: C, replicas: " +
		"2, experimental: {grove: {forceScalingGroup: true}}}]"
	for name, c := range map[string]struct {
		spec, own string
		want      []string
	}{
		"replicas apart":                    {own: "topologySpread: [{domain: rack, maxPerDomain: 1}]"},
		"several services counted together": {spec: "topologySpread: [{domain: rack, among: [B, C], maxPerDomain: 2}]"},
		"a topology for spreads alone": {spec: "topologyConstraint: {topologyProfile: aws}",
			own: "topologySpread: [{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}]"},
		"evenly, or not at all": {
			own: "topologySpread: [{domain: rack, even: true}]",
			want: []string{
				`spec.services[0].topologySpread[0].even: Invalid value: true: can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain (service "A")`,
			},
		},
		"apart by rack within a zone": {spec: "topologyConstraint: {packDomain: zone}",
			own: "topologySpread: [{domain: rack, maxPerDomain: 1}]"},
		"rather apart by rack within one": {spec: "topologyConstraint: {packDomain: rack}",
			own: "topologySpread: [{domain: rack, maxPerDomain: 1, whenUnsatisfiable: ScheduleAnyway}]"},
		"apart where one rack is preferred": {spec: "topologyConstraint: {preferredDomain: rack}",
			own: "topologySpread: [{domain: rack, maxPerDomain: 1}]"},
		"near another deployment": {spec: "topologySpread: [{domain: block, near: router-0}]",
			own: "topologySpread: [{domain: rack, near: router-0}]"},
		"near one within one rack": {spec: "topologyConstraint: {packDomain: rack}",
			own: "topologySpread: [{domain: rack, near: router-0}]"},
		"near itself": {
			spec: "topologySpread: [{domain: block, near: d-0}]",
			own:  "topologySpread: [{domain: rack, near: d-0-c-1}]",
			want: []string{
				`spec.topologySpread[0].near: Invalid value: "d-0": is a gang of this deployment: name another's, or use topologyConstraint`,
				`spec.services[0].topologySpread[0].near: Invalid value: "d-0-c-1": is a gang of this deployment: name another's, or use topologyConstraint (service "A")`,
			},
		},
		"near what is no name": {
			own: "topologySpread: [{domain: rack, near: Store 0}]",
			want: []string{`spec.services[0].topologySpread[0].near: Invalid value: "Store 0": is no name of a PodGroup: ` +
				strings.Join(validation.IsDNS1123Subdomain("Store 0"), "; ") + ` (service "A")`},
		},
		"some of it near a gang": {
			spec: "topologySpread: [{domain: block, among: [B, C], near: router-0}]",
			want: []string{`spec.topologySpread[0].near: Invalid value: "router-0": contradicts spec.topologySpread[0].among: ` +
				`it is for all gangs of the deployment; for those of one service set it there`},
		},
		"near and evenly": {
			own: "topologySpread: [{domain: rack, even: true, near: router-0}]",
			want: []string{`spec.services[0].topologySpread[0]: Invalid value: "even, near": ` + oneOfFour +
				` (service "A")`},
		},
		"two bounds": {
			own: "topologySpread: [{domain: rack, maxPerDomain: 1, even: true}]",
			want: []string{`spec.services[0].topologySpread[0]: Invalid value: "maxPerDomain, even": ` + oneOfFour +
				` (service "A")`},
		},
		"no bound and no domain": {
			own: "topologySpread: [{whenUnsatisfiable: ScheduleAnyway}]",
			want: []string{
				`spec.services[0].topologySpread[0].domain: Required value: name the domain by which replicas are counted (service "A")`,
				`spec.services[0].topologySpread[0]: Invalid value: "": ` + oneOfFour + ` (service "A")`,
			},
		},
		"more than all": {
			own: "topologySpread: [{domain: rack, maxPercentPerDomain: 101}, {domain: rack, maxPerDomain: 0}]",
			want: []string{
				`spec.services[0].topologySpread[0].maxPercentPerDomain: Invalid value: 101: must be at most 100 (service "A")`,
				`spec.services[0].topologySpread[1].maxPerDomain: Invalid value: 0: must be at least 1 (service "A")`,
			},
		},
		"among on a service": {
			own: "topologySpread: [{domain: rack, among: [B], maxPerDomain: 1}]",
			want: []string{
				`spec.services[0].topologySpread[0].among: Forbidden: is for spec.topologySpread alone: here the items are the replicas (service "A")`,
			},
		},
		"among nobody": {
			spec: "topologySpread: [{domain: rack, maxPerDomain: 1}]",
			want: []string{
				`spec.topologySpread[0].among: Required value: name the services that are counted together; for one alone, set topologySpread on the service`,
			},
		},
		"among what does not exist, is there twice, or has pods": {
			spec: "topologySpread: [{domain: rack, among: [B, D, B, A], maxPerDomain: 1}]",
			want: []string{
				`spec.topologySpread[0].among[1]: Invalid value: "D": no service has this name; there are A, B, C`,
				`spec.topologySpread[0].among[2]: Duplicate value: "B"`,
				`spec.topologySpread[0].among[3]: Invalid value: "A": its 3 replicas are pods of one group: set experimental.grove.forceScalingGroup on it`,
			},
		},
		"a level that the topology does not have": {
			own: "topologySpread: [{domain: numa, maxPerDomain: 1}]",
			want: []string{
				`spec.services[0].topologySpread[0].domain: Invalid value: "numa": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host (service "A")`,
			},
		},
		"apart by rack within one": {
			spec: "topologyConstraint: {packDomain: rack}", own: "topologySpread: [{domain: rack, maxPerDomain: 1}]",
			want: []string{
				`spec.services[0].topologySpread[0].maxPerDomain: Invalid value: 1: contradicts spec.topologyConstraint.packDomain, by which all 3 replicas stand in one rack: ` +
					`spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway (service "A")`},
		},
		"pods apart by rack within their own one": {
			own: "topologyConstraint: {packDomain: host}, topologySpread: [{domain: rack, maxPercentPerDomain: 50}]",
			want: []string{
				`spec.services[0].topologySpread[0].maxPercentPerDomain: Invalid value: 2: contradicts spec.services[0].topologyConstraint.packDomain, by which all 3 replicas stand in one host: ` +
					`spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway (service "A")`},
		},
		"several services apart by rack within one": {
			spec: "topologyConstraint: {packDomain: rack}\n  topologySpread: [{domain: block, among: [B, C], " +
				"maxPerDomain: 2}]",
			want: []string{
				`spec.topologySpread[0].maxPerDomain: Invalid value: 2: contradicts spec.topologyConstraint.packDomain, by which all 4 replicas stand in one rack: ` +
					`spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := c.own
			if own == "" {
				own = "minAvailable: 1"
			}
			candidate := alpha(t, c.spec, fmt.Sprintf(three, own))
			compare(t, c.want, candidate.ValidateCreate(levels).ToAggregate())
		})
	}
}

// A domain in which replicas are apart contradicts a shared domain unless the shared one is broader. A constraint that
// holds for each replica by itself contradicts nothing.
func TestASpreadContradictsEachConstraintThatIsNoBroader(t *testing.T) {
	all := domains.All()
	everything := admission.Topology{Kind: "ClusterTopology", Name: "grove-topology", Domains: all}
	for i, shared := range all {
		for j, apart := range all {
			constraint, spread := fmt.Sprintf("topologyConstraint: {packDomain: %s}", shared),
				fmt.Sprintf("topologySpread: [{domain: %s, maxPerDomain: 1}]", apart)
			group := "experimental: {componentGroups: [{name: g, replicas: 2, components: [{name: A}], %s}]}"
			for where, c := range map[string]struct {
				spec, services string
				never          bool
			}{
				"pods in a deployment":  {constraint, "[{name: A, replicas: 2, " + spread + "}]", false},
				"pods in their service": {"", "[{name: A, replicas: 2, " + constraint + ", " + spread + "}]", false},
				"replicas of nodes in a deployment": {constraint,
					"[{name: A, replicas: 2, multinode: {nodeCount: 2}, " + spread + "}]", false},
				"replicas of nodes, each in its own": {"",
					"[{name: A, replicas: 2, multinode: {nodeCount: 2}, " + constraint + ", " + spread + "}]", true},
				"copies in a deployment":  {constraint + "\n  " + fmt.Sprintf(group, spread), "[{name: A}]", false},
				"copies, each in its own": {fmt.Sprintf(group, constraint+", "+spread), "[{name: A}]", true},
				"pods in a copy": {fmt.Sprintf(group, constraint), "[{name: A, replicas: 2, " +
					spread + "}]", false},
				"several in a deployment": {
					constraint + fmt.Sprintf("\n  topologySpread: [{domain: %s, among: [A, B], maxPerDomain: 1}]",
						apart),
					"[{name: A}, {name: B}]", false,
				},
			} {
				errs := alpha(t, c.spec, c.services).ValidateCreate(everything)
				assert.Equal(t, i >= j && !c.never, len(errs) > 0,
					"%s: apart by %s within one %s: %v", where, apart, shared, errs)
			}
		}
	}
}
