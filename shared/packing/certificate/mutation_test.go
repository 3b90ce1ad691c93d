package certificate_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
)

// mutants are all texts that differ from some JSON in one number, one element
// that is missing, or one name that another one replaces.
func mutants(t *rapid.T, proof *certificate.Proof, names []string) [][]byte {
	written, err := json.Marshal(proof)
	require.NoError(t, err)
	var root any
	require.NoError(t, json.Unmarshal(written, &root))
	var all [][]byte
	keep := func() {
		changed, err := json.Marshal(root)
		require.NoError(t, err)
		all = append(all, changed)
	}
	mutate(&root, func(v any) { root = v }, keep, names)
	return all
}

func mutate(of *any, set func(any), keep func(), names []string) {
	switch was := (*of).(type) {
	case float64:
		for _, other := range []float64{was + 1, was - 1, 0, -was} {
			if other != was {
				set(other)
				keep()
			}
		}
		set(was)
	case string:
		for _, other := range names {
			if other != was {
				set(other)
				keep()
			}
		}
		set(was)
	case []any:
		for i := range was {
			set(slices.Delete(slices.Clone(was), i, i+1))
			keep()
		}
		set(was)
		for i := range was {
			mutate(&was[i], func(v any) { was[i] = v }, keep, names)
		}
	case map[string]any:
		for key, value := range was {
			delete(was, key)
			keep()
			was[key] = value
			mutate(&value, func(v any) { was[key] = v }, keep, names)
			was[key] = value
		}
	}
}

// figuresOf are the numbers that a proof states.
func figuresOf(proof *certificate.Proof) []int64 {
	var figures []int64
	for _, r := range proof.Rules {
		switch {
		case r.Deficit != nil:
			figures = append(figures, r.Deficit.Has, r.Deficit.Needs)
		case r.Cut != nil:
			figures = append(figures, r.Cut.Need, r.Cut.Offer)
		case r.Branch != nil:
			figures = append(figures, r.Branch.Domains)
		}
	}
	return figures
}

func TestAFigureThatWasChangedIsRejected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		proof := prove(t, in)
		if proof == nil {
			return
		}
		figures := figuresOf(proof)
		for _, changed := range mutants(t, proof, nil) {
			other, err := certificate.Decode(changed)
			if err != nil || certificate.Verify(in, other) != nil {
				continue
			}
			require.True(t, slices.Equal(figures, figuresOf(other)), "%s passes for\n%+v", changed, proof)
		}
	})
}

// A certificate of one input, in each of its mutations, proves nothing about
// another one that has a placement.
func TestWhatFitsIsNeverProvedNotTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		proof := prove(t, in)
		if proof == nil {
			return
		}
		grown := *in
		grown.Nodes = slices.Clone(in.Nodes)
		for i := range grown.Nodes {
			grown.Nodes[i].Free = map[string]int64{
				"gpu": in.Nodes[i].Free["gpu"] + rapid.Int64Range(0, 3).Draw(t, "more gpu"),
				"cpu": in.Nodes[i].Free["cpu"] + rapid.Int64Range(0, 3).Draw(t, "more cpu"),
			}
		}
		if newOracle(&grown).placement() == nil {
			return
		}
		names := []string{"gpu", "cpu", "zone", "rack", "a", "b"}
		for _, g := range in.Groups {
			names = append(names, g.Name)
		}
		written, err := json.Marshal(proof)
		require.NoError(t, err)
		for _, changed := range append(mutants(t, proof, names), written) {
			other, err := certificate.Decode(changed)
			if err != nil {
				continue
			}
			// Without its figures the proof is judged by its rules alone.
			completed, err := certificate.Complete(&grown, other)
			require.Error(t, err, "%s passes as %+v", changed, completed)
		}
	})
}

func TestACertificateForAnotherInputIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		rule certificate.Rule
		want string
	}{
		"a branch on a group": {certificate.Rule{Branch: &certificate.Branch{Group: "x", Topology: "net", Level: "rack"}},
			`group "x" is not in the input`},
		"a branch on a level": {certificate.Rule{Branch: &certificate.Branch{Group: "a", Topology: "net", Level: "row"}},
			`topology "net" has no level "row" in the input`},
		"a group set aside": {certificate.Rule{Without: &certificate.Without{Groups: []string{"x"}}},
			`group "x" is not in the input`},
		"a resource": {cut(certificate.Measure{Resource: "tpu"}),
			`resource "tpu" is asked for by no pod in the input`},
		"a pod that weighs": {cut(certificate.Measure{Pods: map[string]int64{"x": 1}}), `pod "x" is not in the input`},
		"a leaf whose pods do": {cut(certificate.Measure{Resource: "gpu", Of: []string{"x"}}),
			`group "x" is not in the input`},
		"a group that weighs": {cut(certificate.Measure{Groups: map[string]int64{"x": 1}, Topology: "net", Level: "rack"}),
			`group "x" is not in the input`},
		"a level of such": {cut(certificate.Measure{Groups: map[string]int64{"a": 1}, Topology: "net", Level: "row"}),
			`topology "net" has no level "row" in the input`},
		"a measure within": {cut(certificate.Measure{Groups: map[string]int64{"a": 1}, Topology: "net", Level: "rack",
			By: []certificate.Measure{{Resource: "tpu"}}}), `resource "tpu"`},
		"a level within of another topology": {cut(certificate.Measure{Groups: map[string]int64{"a": 1}, Topology: "net",
			Level: "rack", By: []certificate.Measure{{Groups: map[string]int64{"a": 1}, Topology: "power", Level: "rack"}}}),
			`topology "power" has no level "rack" in the input`},
		"a broader level within": {cut(certificate.Measure{Groups: map[string]int64{"a": 1}, Topology: "net", Level: "rack",
			By: []certificate.Measure{{Groups: map[string]int64{"a": 1}, Topology: "net", Level: "zone"}}}),
			`level "zone" is not below level "rack"`},
		"a weight below 0": {cut(certificate.Measure{Pods: map[string]int64{"a-0": -1}}), `pod "a-0" weighs -1`},
		"a group's below 0": {cut(certificate.Measure{Groups: map[string]int64{"a": -1}, Topology: "net", Level: "rack"}),
			`group "a" weighs -1`},
		"the root, unconfined": {cut(certificate.Measure{Groups: map[string]int64{"": 1}, Topology: "net", Level: "rack"}),
			`group "" weighs 1, or need not stand in one rack`},
		"an unconfined branch": {certificate.Rule{Branch: &certificate.Branch{Topology: "net", Level: "rack"}},
			`group "" need not stand in one rack`},
		"two rules in one": {certificate.Rule{Deficit: &certificate.Deficit{}, Without: &certificate.Without{}},
			`rule 0 says 2 things and not one`},
		"no rule": {certificate.Rule{}, `rule 0 says 0 things and not one`},
		"pods that have levels": {cut(certificate.Measure{Resource: "gpu", Level: "rack"}),
			`a measure of pods names a level`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := certificate.Complete(racks(), &certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{test.rule}})
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func cut(m certificate.Measure) certificate.Rule {
	return certificate.Rule{Cut: &certificate.Cut{Measure: m}}
}

func TestRulesReferToLaterOnesOnly(t *testing.T) {
	branch := func(to ...int) certificate.Rule {
		return certificate.Rule{Branch: &certificate.Branch{Group: "a", Topology: "net", Level: "rack", Each: to, None: to}}
	}
	for name, proof := range map[string]*certificate.Proof{
		"to itself":   {Start: []int{0}, Rules: []certificate.Rule{branch(0)}},
		"backwards":   {Start: []int{1}, Rules: []certificate.Rule{branch(1), branch(0)}},
		"to nothing":  {Start: []int{0}, Rules: []certificate.Rule{branch(7)}},
		"below zero":  {Start: []int{-1}, Rules: []certificate.Rule{branch(1)}},
		"from nobody": {Start: []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, certificate.Verify(racks(), proof), certificate.ErrNotProved)
		})
	}
}

func FuzzVerify(f *testing.F) {
	for _, change := range []func(in *certificate.Input){
		func(in *certificate.Input) { in.Nodes, in.Kinds[1].Barred = in.Nodes[:2], in.Kinds[1].Barred[:2] },
		func(in *certificate.Input) { in.Groups[1].MinMember = 3 },
		func(in *certificate.Input) { in.Nodes[1].Free["gpu"], in.Nodes[3].Free["gpu"] = 3, 3 },
	} {
		in := racks()
		change(in)
		written, err := json.Marshal(prove(f, in))
		require.NoError(f, err)
		f.Add(written)
	}
	f.Fuzz(func(t *testing.T, written []byte) {
		proof, err := certificate.Decode(written)
		if err != nil {
			return
		}
		_, err = certificate.Complete(racks(), proof)
		require.Error(t, err, "%s proves that what fits does not", written)
	})
}
