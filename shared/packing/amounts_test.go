package packing_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// Amounts of memory in bytes may be large; a sum that cannot be exact is refused.
func TestLargeAmountsAreExact(t *testing.T) {
	const peta = int64(1e15)
	for name, tc := range map[string]struct {
		node, each int64
		pods       int
		verdict    packing.Verdict
	}{
		"two of 3P on 8P":        {8 * peta, 3 * peta, 2, packing.Placed},
		"three of 3P on 8P":      {8 * peta, 3 * peta, 3, packing.Infeasible},
		"two of 500P on 1000P":   {1000 * peta, 500 * peta, 2, packing.Placed},
		"more than is summed":    {math.MaxInt64, packing.MaxAmount + 1, 1, packing.Invalid},
		"as much as is summed":   {packing.MaxAmount, packing.MaxAmount, 1, packing.Placed},
		"one more than there is": {8 * peta, 8*peta + 1, 1, packing.Infeasible},
	} {
		t.Run(name, func(t *testing.T) {
			d := (site{"z/a": {tc.node}}).cluster(t).Decide(&packing.Gang{Root: leaf("g", tc.pods, shape(tc.each), at("rack"))},
				packing.Options{})
			assert.Equal(t, tc.verdict, d.Verdict, d.Message())
		})
	}
}

// A bad input is answered by a verdict that names it: a Shape with an empty eligibility, counts beyond int32, a budget
// below 0.
func TestBadInputIsNamed(t *testing.T) {
	excluded, unlisted, elsewhere, grown := shape(1), shape(1), shape(1), site{"z/a": {math.MaxInt32 + 1}}
	excluded.Key, excluded.Excluded = "excluded", func(string) string { return "a selector" }
	unlisted.Key, unlisted.Only = "unlisted", []string{}
	elsewhere.Key, elsewhere.Only = "elsewhere", []string{"no such node"}
	pods := func(s packing.Shape) packing.Group { return leaf("g", 1, s, packing.Constraint{}) }
	many := pods(shape(1))
	many.Pending[0].Names = make([]string, 1<<20+1)
	for name, tc := range map[string]struct {
		site    site
		root    packing.Group
		options packing.Options
		verdict packing.Verdict
		message string
	}{
		"filters leave no node": {
			grown, pods(excluded), packing.Options{}, packing.Infeasible,
			`group "g": 0 of 1 pods fit into the cluster; 1 node excluded by a selector`,
		},
		"an empty list of nodes": {
			grown, pods(unlisted), packing.Options{}, packing.Infeasible,
			`group "g": 0 of 1 pods fit into the cluster, which has no node that they may use`,
		},
		"a list of nodes that are not there": {
			grown, pods(elsewhere), packing.Options{}, packing.Infeasible, `group "g": 0 of 1 pods fit into the cluster, which has no node that they may use`,
		},
		"a minimum beyond int32": {
			grown, packing.Group{Name: "g", MinMember: math.MaxInt,
				Pending: pods(shape(1)).Pending}, packing.Options{}, packing.Incomplete,
			`group "g" has 1 of the 9223372036854775807 pods it needs`,
		},
		"free amounts beyond int32": {grown, leaf("g", 5000, shape(1), packing.Constraint{}), packing.Options{},
			packing.Placed, ""},
		"a request beyond int32": {
			grown, pods(shape(math.MaxInt32 + 2)), packing.Options{}, packing.Infeasible,
			`group "g": 0 of 1 pods fit into the cluster, a pod requests 2147483649 device, and no node has more than 2147483648 free`,
		},
		"more pods than are counted": {
			grown, many, packing.Options{}, packing.Invalid, "the gang has 1048577 pending pods; at most 1048576 can be placed together",
		},
		"a budget below 0": {
			grown, pods(shape(1)), packing.Options{Budget: -1}, packing.Invalid,
			"the budget is -1 steps; give at least 1, or 0 for the default of 100000",
		},
		"a budget of 0 is the default": {grown, pods(shape(1)), packing.Options{Budget: 0}, packing.Placed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root}, tc.options)
			assert.Equal(t, tc.verdict, d.Verdict)
			assert.Equal(t, tc.message, d.Message())
		})
	}
}

// A certificate is one for a gang and a cluster: of any other it proves nothing.
func TestACertificateForAnotherInputIsRejected(t *testing.T) {
	cluster := func(devices int64) *packing.Cluster { return (site{"z/a": {devices}, "z/b": {1}}).cluster(t) }
	gang := &packing.Gang{Root: leaf("g", 3, shape(1), at("rack"))}
	smaller, renamed, freer := *gang, *gang, cluster(3)
	smaller.Root = leaf("g", 2, shape(1), at("rack"))
	renamed.Root = leaf("h", 3, shape(1), at("rack"))
	d := cluster(2).Decide(gang, packing.Options{})
	require.NotNil(t, d.Certificate, d.Message())
	for name, tc := range map[string]struct {
		in   *certificate.Input
		want string
	}{
		"the same":                     {cluster(2).Input(gang), ""},
		"a device more":                {freer.Input(gang), "the certificate does not prove"},
		"a device less":                {cluster(1).Input(gang), "the certificate does not prove"},
		"a pod less":                   {cluster(2).Input(&smaller), "the certificate does not prove"},
		"a group of a name of its own": {cluster(2).Input(&renamed), `group "g" is not in the input`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := certificate.Verify(tc.in, d.Certificate); tc.want == "" && err != nil || tc.want != "" && (err == nil ||
				!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// What a gang with many kinds of pods leaves in the memory of the cluster is bounded.
func TestMemoriesOfKindsShrink(t *testing.T) {
	c := farm(t, 300, packing.Resources{"device": 4})
	for _, pods := range []int{200, 5000} {
		c.Decide(&packing.Gang{Root: claims("g", pods, pods, packing.Constraint{})}, packing.Options{})
	}
	c.Decide(&packing.Gang{Root: leaf("g", 1, shape(1), packing.Constraint{})}, packing.Options{})
	assert.LessOrEqual(t, len(c.Shapes()), 4096, "shapes are remembered")
}
