package certificate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// threePods is racks, with a gang of three pods that need one rack: they ask for 12 of gpu, and each rack has 8.
func threePods() *certificate.Input {
	in := racks()
	in.Groups = []certificate.Group{{Parent: -1, Topology: "net", Required: "rack", MinMember: 3,
		Pending: []certificate.Pods{{Kind: 0, Names: []string{"p-0", "p-1", "p-2"}}}}}
	return in
}

func byGPU() certificate.Rule {
	return certificate.Rule{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}}}
}

func eachRack(each ...int) certificate.Rule {
	return certificate.Rule{Branch: &certificate.Branch{Topology: "net", Level: "rack", Each: each, None: []int{1}}}
}

func deficit() certificate.Rule { return certificate.Rule{Deficit: &certificate.Deficit{}} }

func TestACompletedProofHasNothingOfNoUse(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *certificate.Input)
		start  []int
		rules  []certificate.Rule
		want   certificate.Proof
	}{
		"an alternative that does not hold": {
			start: []int{1, 0},
			rules: []certificate.Rule{eachRack(1, 2), deficit(), byGPU()},
			want: certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
				{Branch: &certificate.Branch{Topology: "net", Level: "rack", Domains: 2, Each: []int{2}, None: []int{1}}},
				{Deficit: &certificate.Deficit{Has: 0, Needs: 3}},
				{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Domain: "z/r0", Need: 12, Offer: 8}},
			}},
		},
		"a reference that is there twice": {
			start: []int{0, 0},
			rules: []certificate.Rule{eachRack(2, 2, 1, 2), deficit(), byGPU()},
			want: certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
				{Branch: &certificate.Branch{Topology: "net", Level: "rack", Domains: 2, Each: []int{2}, None: []int{1}}},
				{Deficit: &certificate.Deficit{Has: 0, Needs: 3}},
				{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Domain: "z/r0", Need: 12, Offer: 8}},
			}},
		},
		// Without room in the first rack, few holds there, and not in the second one: what it says of the first is dropped.
		"what held until a branch failed": {
			change: func(in *certificate.Input) {
				in.Nodes[0].Free, in.Nodes[1].Free = nil, nil
				in.Nodes[2].Free["gpu"], in.Nodes[3].Free["gpu"] = 4, 4
			},
			start: []int{0, 2},
			rules: []certificate.Rule{eachRack(1), deficit(), byGPU()},
			want: certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
				{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Need: 12, Offer: 8}},
			}},
		},
		"a rule that nothing refers to": {
			change: func(in *certificate.Input) { in.Nodes[0].Free, in.Nodes[1].Free = nil, nil },
			start:  []int{1},
			rules:  []certificate.Rule{eachRack(1), byGPU()},
			want: certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
				{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Need: 12, Offer: 8}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := threePods()
			if test.change != nil {
				test.change(in)
			}
			completed, err := certificate.Complete(in, &certificate.Proof{Start: test.start, Rules: test.rules})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(&test.want, completed))
			assert.NoError(t, certificate.Verify(in, completed))
		})
	}
}

func TestALackIsThatOfMostNodes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *certificate.Input)
		want   certificate.Shortage
	}{
		"too little of one resource": {
			func(in *certificate.Input) { in.Kinds[0].Requests["gpu"] = 5 },
			certificate.Shortage{Resource: "gpu", Asks: 5, Free: 4},
		},
		"more nodes have too little of the other resource": {
			func(in *certificate.Input) {
				in.Kinds[0].Requests["memory"] = 9
				in.Nodes[0].Free["gpu"], in.Nodes[0].Free["memory"] = 3, 10
				for i, free := range []int64{8, 7, 6} {
					in.Nodes[i+1].Free["memory"] = free
				}
			},
			certificate.Shortage{Resource: "memory", Asks: 9, Free: 10},
		},
		"of equals the first by name": {
			func(in *certificate.Input) { in.Kinds[0].Requests["cpu"], in.Kinds[0].Requests["gpu"] = 1, 5 },
			certificate.Shortage{Resource: "cpu", Asks: 1},
		},
		"nodes that filters exclude do not count": {
			func(in *certificate.Input) {
				in.Kinds[0].Barred = []bool{false, false, false, true}
				in.Kinds[0].Requests["gpu"] = 5
				in.Nodes[3].Free["gpu"] = 9
			},
			certificate.Shortage{Resource: "gpu", Asks: 5, Free: 4},
		},
		"of two kinds the first": {
			func(in *certificate.Input) {
				in.Kinds = []certificate.Kind{{Requests: map[string]int64{"gpu": 5}}, {Requests: map[string]int64{"gpu": 6}}}
				in.Groups[0].MinMember = 2
				in.Groups[0].Pending = []certificate.Pods{{Kind: 0, Names: []string{"p-0"}}, {Kind: 1, Names: []string{"p-1"}}}
			},
			certificate.Shortage{Resource: "gpu", Asks: 5, Free: 4},
		},
		"filters exclude all nodes": {
			func(in *certificate.Input) { in.Kinds[0].Barred = []bool{true, true, true, true} }, certificate.Shortage{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := threePods()
			in.Groups[0].Required = ""
			test.change(in)
			completed, err := certificate.Complete(in, &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{deficit()}})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(test.want, completed.Rules[0].Deficit.Shortage))
		})
	}
}

func TestAProofEndsWithinItsSteps(t *testing.T) {
	m, err := certificate.Read(threePods())
	require.NoError(t, err)
	proof := &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{eachRack(1, 2), deficit(), byGPU()}}
	// What a model has worked out once, it knows.
	if _, first, err := m.Complete(proof, certificate.MaxSteps); err != nil || first < 1 {
		t.Fatalf("%d steps, %v", first, err)
	}
	_, takes, err := m.Complete(proof, certificate.MaxSteps)
	require.NoError(t, err)
	require.GreaterOrEqual(t, takes, 1)
	if _, taken, err := m.Complete(proof, takes); err != nil || taken != takes {
		t.Errorf("%d steps of %d, %v", taken, takes, err)
	}
	completed, taken, err := m.Complete(proof, takes-1)
	if completed != nil || taken < takes || !errors.Is(err, certificate.ErrNotProved) {
		t.Errorf("%v after %d steps of %d: %v", completed, taken, takes-1, err)
	}
}

func TestWhatIsNoCertificateIsNotRead(t *testing.T) {
	const right = `{"start": [0], "rules": [{"deficit": {"group": "", "has": 0, "needs": 3}}]}`
	for name, test := range map[string]struct{ written, want string }{
		"a certificate":               {right, ""},
		"white space that follows":    {right + " \n", ""},
		"a second one that follows":   {right + right, "something follows it"},
		"a bracket that follows":      {right + "}", "something follows it"},
		"a field that does not exist": {`{"start": [0], "rule": []}`, `unknown field "rule"`},
		"the end that is missing":     {right[:len(right)-1], "it cannot be read"},
		"nothing":                     {"", "it cannot be read"},
		"as much as may be read":      {right + strings.Repeat(" ", 1<<22-len(right)), ""},
		"more than may be read":       {right + strings.Repeat(" ", 1<<22+1-len(right)), "4194305 bytes, more than 4194304"},
	} {
		t.Run(name, func(t *testing.T) {
			proof, err := certificate.Decode([]byte(test.written))
			assert.False(t, test.want == "" && (err != nil || !slices.Equal(proof.Start, []int{0})), "%+v, %v", proof, err)
			assert.False(t, test.want != "" && (err == nil ||
				!strings.Contains(err.Error(), test.want)), "%+v, %v", proof, err)
		})
	}
}

// Sets of nodes are kept in words of 64: what is beyond the first word is judged like what is in it.
func TestManyNodesAreJudgedLikeFew(t *testing.T) {
	for _, nodes := range []int{63, 64, 65, 128, 129, 200} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			in := threePods()
			in.Nodes = nil
			for i := range nodes {
				in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprintf("n%d", i), Free: map[string]int64{"gpu": 4},
					Domains: map[string][]string{"net": {"z", []string{"r0", "r1"}[min(1, i/(nodes-2))]}}})
			}
			// All nodes of the first rack but the first and the last two are barred; the second rack has two nodes.
			in.Kinds[0].Barred = make([]bool, nodes)
			for i := 1; i < nodes-4; i++ {
				in.Kinds[0].Barred[i] = true
			}
			in.Kinds = in.Kinds[:1]
			right := map[string]string{"p-0": "n0", "p-1": fmt.Sprintf("n%d", nodes-4), "p-2": fmt.Sprintf("n%d", nodes-3)}
			assert.Empty(t, certificate.Check(in, right))
			assert.Nil(t, prove(t, in), "it fits, and is refused")
			for i := range 4 {
				barred := nodes - 4 + i
				in.Kinds[0].Barred[barred] = true
				proof := prove(t, in)
				switch {
				case (proof == nil) != (i >= 2):
					t.Errorf("without n%d it fits: %v; there is a proof that it does not: %v", barred, i >= 2, proof != nil)
				case proof != nil:
					assert.NoError(t, certificate.Verify(in, proof))
				}
				in.Kinds[0].Barred[barred] = false
			}
		})
	}
}

// Pods of one kind may be listed in several places of a leaf, or as kinds that differ in nothing.
func TestPodsThatAreListedApartCountTogether(t *testing.T) {
	for name, kinds := range map[string][]certificate.Kind{
		"one kind":         {{Requests: map[string]int64{"gpu": 4}}},
		"kinds that equal": {{Requests: map[string]int64{"gpu": 4}}, {Requests: map[string]int64{"gpu": 4, "cpu": 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := threePods()
			in.Kinds, in.Groups[0].Required = kinds, ""
			in.Groups[0].Pending = []certificate.Pods{{Kind: 0, Names: []string{"p-0"}},
				{Kind: len(kinds) - 1, Names: []string{"p-1", "p-2"}}}
			assert.Nil(t, prove(t, in), "it fits, and is refused")
			weighed := &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
				cut(certificate.Measure{Pods: map[string]int64{"p-0": 1, "p-2": 1}})}}
			if _, err := certificate.Complete(in, weighed); !errors.Is(err, certificate.ErrNotProved) {
				t.Errorf("it fits, and pods are said to be too many: %v", err)
			}
			in.Nodes = in.Nodes[:2]
			completed, err := certificate.Complete(in, weighed)
			require.NoError(t, err)
			if c := completed.Rules[0].Cut; c.Need != 3 || c.Offer != 2 {
				t.Errorf("%d pods, and room for %d", c.Need, c.Offer)
			}
		})
	}
}

// A weight of nothing is no fault, but proves nothing.
func TestPodsThatWeighNothingProveNothing(t *testing.T) {
	for name, m := range map[string]certificate.Measure{
		"pods":   {Pods: map[string]int64{"p-0": 0}},
		"groups": {Groups: map[string]int64{"": 0}, Topology: "net", Level: "rack"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := certificate.Complete(threePods(), &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{cut(m)}})
			require.ErrorIs(t, err, certificate.ErrNotProved)
			assert.NotContains(t, err.Error(), "weighs")
		})
	}
}

// Pods that ask for the same are still of two kinds where filters tell them apart.
func TestFiltersTellKindsApart(t *testing.T) {
	for _, nodes := range []int{4, 200} {
		in := threePods()
		in.Nodes = nil
		for i := range nodes {
			in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprintf("n%d", i), Free: map[string]int64{"gpu": 4}})
		}
		only := func(allowed ...int) certificate.Kind {
			kind := certificate.Kind{Requests: map[string]int64{"gpu": 4}, Barred: slices.Repeat([]bool{true}, nodes)}
			for _, node := range allowed {
				kind.Barred[node] = false
			}
			return kind
		}
		in.Kinds = []certificate.Kind{only(0, 1), only(nodes - 2), only(nodes - 1)}
		in.Groups[0].Required = ""
		in.Groups[0].Pending = []certificate.Pods{{Kind: 0, Names: []string{"p-0"}}, {Kind: 1, Names: []string{"p-1"}},
			{Kind: 2, Names: []string{"p-2"}}}
		last, before := fmt.Sprintf("n%d", nodes-1), fmt.Sprintf("n%d", nodes-2)
		assert.Empty(t, certificate.Check(in, map[string]string{"p-0": "n1", "p-1": before, "p-2": last}))
		assert.Len(t, certificate.Check(in, map[string]string{"p-0": "n1", "p-1": last, "p-2": before}), 2,
			"two pods stand where filters keep them off")
		assert.Nil(t, prove(t, in), "it fits, and is refused")
		in.Kinds[2] = only(nodes - 2)
		if proof := prove(t, in); proof == nil {
			t.Error("two pods may use one node only, and are not refused")
		} else if err := certificate.Verify(in, proof); err != nil {
			t.Error(err)
		}
	}
}

func TestFewNamesTheInnermostGroup(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *certificate.Input)
		want   certificate.Deficit
	}{
		"a leaf of fewer pods than it needs": {
			func(in *certificate.Input) { in.Groups[1].MinMember = 3 }, certificate.Deficit{Group: "a", Has: 2, Needs: 3},
		},
		"running pods count": {
			func(in *certificate.Input) { in.Groups[1].MinMember, in.Groups[1].Running = 4, []string{"n0"} },
			certificate.Deficit{Group: "a", Has: 3, Needs: 4},
		},
		"a group that could do without one, of which two lack": {
			func(in *certificate.Input) {
				in.Groups[1].MinMember = 3
				in.Groups = append(in.Groups, certificate.Group{Name: "c", MinMember: 1})
			},
			certificate.Deficit{Has: 1, Needs: 2},
		},
		"a group that could do without one, and pods that no node takes": {
			func(in *certificate.Input) {
				in.Groups[1].MinMember, in.Kinds[1].Requests["gpu"] = 3, 9
				in.Groups[1], in.Groups[2] = in.Groups[2], in.Groups[1]
				in.Groups = append(in.Groups, certificate.Group{Name: "c"})
			},
			certificate.Deficit{Has: 1, Needs: 2, Shortage: certificate.Shortage{Resource: "gpu", Asks: 9, Free: 4}},
		},
		"pods that no node takes": {
			func(in *certificate.Input) { in.Kinds[1].Requests["gpu"] = 9 },
			certificate.Deficit{Group: "b", Needs: 1, Shortage: certificate.Shortage{Resource: "gpu", Asks: 9, Free: 4}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := racks()
			test.change(in)
			completed, err := certificate.Complete(in, &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{deficit()}})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(&test.want, completed.Rules[0].Deficit))
		})
	}
}

// Only the pods of the leaves named weigh, and each of them.
func TestAMeasureIsOfTheLeavesNamed(t *testing.T) {
	in := racks()
	in.Groups[1].Required, in.Groups[2].Required = "", ""
	in.Groups[2].MinMember = 2
	in.Nodes = in.Nodes[1:2]
	in.Kinds[1].Barred, in.Nodes[0].Free["gpu"] = nil, 7
	for leaf, want := range map[string][2]int64{"a": {8, 4}, "b": {4, 4}, "": {12, 6}} {
		m := certificate.Measure{Resource: "gpu"}
		if leaf != "" {
			m.Of = []string{leaf}
		}
		weighed := &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{cut(m)}}
		completed, err := certificate.Complete(in, weighed)
		if want[0] <= want[1] {
			require.ErrorIs(t, err, certificate.ErrNotProved, "%q has room", leaf)
			continue
		}
		require.NoError(t, err)
		if c := completed.Rules[0].Cut; c.Need != want[0] || c.Offer != want[1] {
			t.Errorf("of %q %d are needed of %d, want %v", leaf, c.Need, c.Offer, want)
		}
	}
}

// What is set aside gets no pods: what remains of the gang has to do without.
func TestGroupsThatAreSetAsideGetNoPods(t *testing.T) {
	in := racks()
	in.Groups[1].MinMember = 3
	in.Groups[1].Pending[0].Names = []string{"a-0", "a-1", "a-2"}
	without := &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{
		{Without: &certificate.Without{Groups: []string{"a", "b"}, Each: []int{1}, Then: []int{2}}},
		{Branch: &certificate.Branch{Group: "a", Topology: "net", Level: "rack", Each: []int{2, 3}, None: []int{2}}},
		deficit(), byGPU(),
	}}
	completed, err := certificate.Complete(in, without)
	require.NoError(t, err)
	w := completed.Rules[0].Without
	assert.Equal(t, []string{"a"}, w.Groups, "%q are set aside, and b fits", w.Groups)
	in.Groups[0].MinSubGroups = 1
	_, err = certificate.Complete(in, without)
	require.ErrorIs(t, err, certificate.ErrNotProved, "b suffices")
	in.Groups[2].MinMember = 3
	_, err = certificate.Complete(in, without)
	assert.NoError(t, err, "neither has pods enough")
}

func TestAGangThatReachesTooLittleIsNamedOnce(t *testing.T) {
	in := threePods()
	in.Groups[0].Required = ""
	errs := certificate.Check(in, map[string]string{"p-0": "n0"})
	require.Len(t, errs, 1)
	assert.EqualError(t, errs[0], "the gang reaches 1 of the 3 pods that it needs")
}

// Running pods hold their group to their rack: no rule has to look into the others.
func TestRunningPodsHoldTheirGroup(t *testing.T) {
	in := threePods()
	in.Groups[0].MinMember, in.Groups[0].Running = 4, []string{"n3"}
	completed, err := certificate.Complete(in, &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{byGPU()}})
	require.NoError(t, err)
	if c := completed.Rules[0].Cut; c.Need != 12 || c.Offer != 8 {
		t.Errorf("%d are needed of %d", c.Need, c.Offer)
	}
	in.Groups[0].Running = []string{"n3", "n0"}
	_, err = certificate.Complete(in, &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{deficit()}})
	assert.NoError(t, err, "it stands in two racks")
}

// Domains are named whatever the order of nodes.
func TestDomainsAreNamedInAnyOrderOfNodes(t *testing.T) {
	in := threePods()
	for i, rack := range []string{"r2", "r0", "r1", "r0"} {
		in.Nodes[i].Domains["net"] = []string{"z", rack}
	}
	errs := certificate.Check(in, map[string]string{"p-0": "n0", "p-1": "n2", "p-2": "n0"})
	if want := "the gang requires one rack, but stands in z/r1 and z/r2"; len(errs) != 2 || errs[1].Error() != want {
		t.Errorf("said %v, want %s last", errs, want)
	}
}

// A rule about one group says nothing of groups that are not inside it: those are neither judged nor named.
func TestGroupsOutsideTheGoalAreNotSetAside(t *testing.T) {
	in := racks()
	pods := func(kind int, name string) []certificate.Pods {
		return []certificate.Pods{{Kind: kind, Names: []string{name}}}
	}
	in.Kinds = append(in.Kinds, certificate.Kind{Requests: map[string]int64{"gpu": 99}})
	large := len(in.Kinds) - 1
	in.Groups = []certificate.Group{
		{Name: "all", Parent: -1, MinSubGroups: 2},
		{Name: "x", Parent: 0, MinSubGroups: 2},
		{Name: "x-fits", Parent: 1, MinMember: 1, Pending: pods(0, "p-0")},
		{Name: "x-large", Parent: 1, MinMember: 1, Pending: pods(large, "p-1")},
		{Name: "y", Parent: 0, MinMember: 1, Pending: pods(large, "p-2")},
	}
	without := func(each int, groups ...string) certificate.Rule {
		return certificate.Rule{Without: &certificate.Without{Groups: groups, Each: []int{each}, Then: []int{2}}}
	}
	completed, err := certificate.Complete(in, &certificate.Proof{Start: []int{0},
		Rules: []certificate.Rule{without(1, "x"), without(2, "y", "x-large", "x"), deficit()}})
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff([]string{"x-large"}, completed.Rules[1].Without.Groups),
		"groups set aside inside of x (-want +got)")
	assert.Empty(t, cmp.Diff([]string{"x"}, completed.Rules[0].Without.Groups), "groups set aside (-want +got)")
}
