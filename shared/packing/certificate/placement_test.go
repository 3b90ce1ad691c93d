package certificate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
)

func TestWhatTheOraclePlacesIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		nodes := newOracle(in).placement()
		if nodes == nil {
			return
		}
		require.Empty(t, certificate.Check(in, nodes), "%v", nodes)
	})
}

func TestCheckAcceptsWhatTheOracleAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		o := newOracle(in)
		nodes, right := map[string]string{}, true
		for i, pod := range o.pods {
			if node := rapid.IntRange(-1, len(in.Nodes)-1).Draw(t, "node"); node >= 0 {
				nodes[pod.name] = in.Nodes[node].Name
				right = o.put(i, node) && right
			}
		}
		right = right && o.right()
		errs := certificate.Check(in, nodes)
		require.Equal(t, len(errs) == 0, right, "the oracle says %v, Check %v", right, errs)
	})
}

// racks is two racks of two nodes, with a gang of two groups of two pods, each in
// one rack.
func racks() *certificate.Input {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}},
		Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": 4}}, {Requests: map[string]int64{"gpu": 2},
			Barred: []bool{true, false, false, false}}},
		Groups: []certificate.Group{
			{Parent: -1, MinSubGroups: 2},
			{Name: "a", Topology: "net", Required: "rack", MinMember: 2, Pending: []certificate.Pods{{Kind: 0,
				Names: []string{"a-0", "a-1"}}}},
			{Name: "b", Topology: "net", Required: "rack", MinMember: 1, Pending: []certificate.Pods{{Kind: 1,
				Names: []string{"b-0", "b-1"}}}},
		},
	}
	for i := range 4 {
		in.Nodes = append(in.Nodes, certificate.Node{
			Name: fmt.Sprintf("n%d", i), Free: map[string]int64{"gpu": 4},
			Domains: map[string][]string{"net": {"z", fmt.Sprintf("r%d", i/2)}},
		})
	}
	return in
}

func TestEachFaultOfAPlacementIsNamed(t *testing.T) {
	right := map[string]string{"a-0": "n0", "a-1": "n1", "b-0": "n2", "b-1": "n2"}
	for name, test := range map[string]struct {
		change func(in *certificate.Input, nodes map[string]string)
		want   string
	}{
		"nothing":             {func(*certificate.Input, map[string]string) {}, ""},
		"a pod that may wait": {func(_ *certificate.Input, nodes map[string]string) { delete(nodes, "b-1") }, ""},
		"a pod of another input": {
			func(_ *certificate.Input, nodes map[string]string) { nodes["c-0"] = "n3" },
			`pod "c-0" is no pending pod of this gang in the input`,
		},
		"a node of another input": {
			func(_ *certificate.Input, nodes map[string]string) { nodes["b-1"] = "n9" },
			`pod "b-1" is on node "n9", which the input does not have`,
		},
		"a node that filters exclude": {
			func(_ *certificate.Input, nodes map[string]string) {
				nodes["a-0"], nodes["a-1"], nodes["b-0"], nodes["b-1"] = "n2", "n3", "n0", "n1"
			},
			`pod "b-0" is on node "n0", which filters exclude for it`,
		},
		"more than what is free": {
			func(_ *certificate.Input, nodes map[string]string) { nodes["a-1"] = "n0" },
			`node "n0" has 4 of gpu free, and the pods placed there ask for 8`,
		},
		"more than int64 holds": {
			func(in *certificate.Input, nodes map[string]string) {
				in.Kinds[0].Requests["gpu"], in.Nodes[0].Free["gpu"] = math.MaxInt64, math.MaxInt64
				nodes["a-1"] = "n0"
			},
			`node "n0" has 9223372036854775807 of gpu free, and the pods placed there ask for 9223372036854775808 or more`,
		},
		"as much as int64 holds": {
			func(in *certificate.Input, _ map[string]string) {
				in.Kinds[1].Requests["gpu"], in.Nodes[2].Free["gpu"] = math.MaxInt64/2, math.MaxInt64
			}, "",
		},
		"one more than int64 holds": {
			func(in *certificate.Input, _ map[string]string) {
				in.Kinds[1].Requests["gpu"], in.Nodes[2].Free["gpu"] = 1<<62, math.MaxInt64
			}, `ask for 9223372036854775808 or more`,
		},
		"a group that needs less than nothing": {
			func(in *certificate.Input, nodes map[string]string) {
				in.Groups[2].MinMember = math.MinInt
				delete(nodes, "b-0")
				delete(nodes, "b-1")
			}, "",
		},
		"a mandatory pod that is missing": {
			func(_ *certificate.Input, nodes map[string]string) { delete(nodes, "a-1") },
			`group "a" has pods placed, but reaches 1 of the 2 pods that it needs`,
		},
		"a group that is missing": {
			func(_ *certificate.Input, nodes map[string]string) { delete(nodes, "b-0"); delete(nodes, "b-1") },
			`the gang reaches 1 of the 2 groups that it needs`,
		},
		"two domains": {
			func(_ *certificate.Input, nodes map[string]string) { nodes["a-1"] = "n3" },
			`group "a" requires one rack, but stands in z/r0 and z/r1`,
		},
		"another domain than that of the running pods": {
			func(in *certificate.Input, _ map[string]string) { in.Groups[2].Running = []string{"n1"} },
			`group "b" requires one rack, but stands in z/r0 and z/r1`,
		},
		"no domain": {
			func(in *certificate.Input, _ map[string]string) { in.Nodes[1].Domains["net"] = []string{"z"} },
			`group "a" requires one rack, and node "n1" is in none`,
		},
		"not where the followed pods are": {
			func(in *certificate.Input, _ map[string]string) {
				in.Groups[2].Follow = []certificate.Anchor{{Topology: "net", Level: "rack", Nodes: []string{"n0"}}}
			},
			`group "b" and the pods it follows share one rack, but stands in z/r0 and z/r1`,
		},
		"not where the followed pods are, of the broadest level": {
			func(in *certificate.Input, _ map[string]string) {
				in.Nodes[2].Domains["net"][0] = "y"
				in.Groups[2].Follow = []certificate.Anchor{{Topology: "net", Level: "zone", Nodes: []string{"n0"}}}
			},
			`group "b" and the pods it follows share one zone, but stands in y and z`,
		},
		"followed pods that the input does not know": {
			func(in *certificate.Input, nodes map[string]string) {
				in.Groups[2].Required, nodes["b-1"] = "", "n1"
				in.Kinds[0].Requests["gpu"] = 2
				in.Groups[2].Follow = []certificate.Anchor{{Topology: "net", Level: "rack", Nodes: []string{"n9"}}}
			}, "",
		},
		"followed at a level that does not exist": {
			func(in *certificate.Input, _ map[string]string) {
				in.Groups[2].Follow = []certificate.Anchor{{Topology: "net", Level: "row", Nodes: []string{"n0"}}}
			},
			`group "b" follows pods at level "row", which topology "net" does not have`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, nodes := racks(), map[string]string{}
			for pod, node := range right {
				nodes[pod] = node
			}
			test.change(in, nodes)
			var said []string
			for _, err := range certificate.Check(in, nodes) {
				said = append(said, err.Error())
			}
			if got := strings.Join(said, "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("said\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAnInputThatContradictsItselfIsNamed(t *testing.T) {
	for want, change := range map[string]func(in *certificate.Input){
		`node "n0" is there twice`:             func(in *certificate.Input) { in.Nodes[1].Name = "n0" },
		`group "a" is there twice`:             func(in *certificate.Input) { in.Groups[2].Name = "a" },
		`pod "a-0" is there twice`:             func(in *certificate.Input) { in.Groups[1].Pending[0].Names[1] = "a-0" },
		`there is no group`:                    func(in *certificate.Input) { in.Groups = nil },
		`kind 2 of 2`:                          func(in *certificate.Input) { in.Groups[1].Pending[0].Kind = 2 },
		`kind -1 of 2`:                         func(in *certificate.Input) { in.Groups[1].Pending[0].Kind = -1 },
		`requires level "row"`:                 func(in *certificate.Input) { in.Groups[1].Required = "row" },
		`from 1 nodes of 4`:                    func(in *certificate.Input) { in.Kinds[1].Barred = []bool{true} },
		`group "a" has a parent that does not`: func(in *certificate.Input) { in.Groups[1].Parent = 1 },
		`group "b" has a parent that does not`: func(in *certificate.Input) { in.Groups[2].Parent = -1 },
		`group "" has a parent that does not`:  func(in *certificate.Input) { in.Groups[0].Parent = 0 },
		`"a" has a parent that does not come`:  func(in *certificate.Input) { in.Groups[1].Parent = 2 },
		`"b" has a parent that does not come`:  func(in *certificate.Input) { in.Groups[2].Parent = -2 },
		`group "a" has children and`:           func(in *certificate.Input) { in.Groups[2].Parent = 1 },
		`group "c" is not in preorder`: func(in *certificate.Input) {
			in.Groups[1].Pending = nil
			in.Groups = append(in.Groups, certificate.Group{Name: "c", Parent: 1})
		},
	} {
		t.Run(want, func(t *testing.T) {
			in := racks()
			change(in)
			errs := certificate.Check(in, nil)
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs[0], want)
			assert.ErrorContains(t, certificate.Verify(in, &certificate.Proof{}), want)
		})
	}
}

// A tree so deep that its pods in each group are too many to look at is not checked.
func TestAHostileInputEnds(t *testing.T) {
	deep, items := nested(9000), nested(9000)
	last := &deep.Groups[len(deep.Groups)-1]
	nodes := map[string]string{}
	for i := range 2000 {
		name := fmt.Sprint(i)
		last.Pending[0].Names, nodes[name] = append(last.Pending[0].Names, name), "n0"
	}
	for i := range items.Groups {
		items.Relations = append(items.Relations, certificate.Relation{Name: fmt.Sprint(i), Topology: "net", Level: "zone", Max: 1})
		last := &items.Groups[len(items.Groups)-1]
		last.Relations = append(last.Relations, fmt.Sprint(i))
	}
	for _, test := range []struct {
		in   *certificate.Input
		want string
	}{{deep, "the placement cannot be checked within 16777216 steps"},
		{items, "the input is wrong: it cannot be read within 16777216 steps"}} {
		errs := certificate.Check(test.in, nodes)
		require.NotEmpty(t, errs)
		assert.EqualError(t, errs[len(errs)-1], test.want)
	}
}
