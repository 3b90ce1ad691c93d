package certificate_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/refute"
)

// prove looks for a proof.
func prove(t rapid.TB, in *certificate.Input) *certificate.Proof {
	m, err := certificate.Read(in)
	require.NoError(t, err)
	return refute.Prove(m, 8*certificate.MaxSteps, refute.Hints{})
}

// What does not fit without filters does not fit with them; what fits without them is not refused without them.
func TestProofsWithoutFilters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		open := *in
		open.Kinds = slices.Clone(in.Kinds)
		for i := range open.Kinds {
			open.Kinds[i].Barred = nil
		}
		proof := prove(t, &open)
		if proof != nil {
			proof.Unfiltered = true
			require.NoError(t, certificate.Verify(in, proof), "what proves it without filters")
			require.Nil(t, newOracle(in).placement(), "it fits")
			return
		}
		if proof = prove(t, in); proof != nil {
			proof.Unfiltered = true
			require.ErrorIs(t, certificate.Verify(in, proof), certificate.ErrNotProved,
				"what fits but for filters is refused without them")
		}
	})
}

func TestWhatFitsNowhereIsProved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		proof := prove(t, in)
		feasible := newOracle(in).placement()
		if (proof == nil) != (feasible != nil) {
			written, _ := json.Marshal(proof)
			question, _ := json.MarshalIndent(in, "", " ")
			t.Fatalf("the oracle finds %v, the proof is %s\n%s", feasible, written, question)
		}
		if proof != nil {
			require.NoError(t, certificate.Verify(in, proof))
		}
	})
}

// What is proved within few steps, with any pods that a search may have met, is so.
func TestNothingIsProvedThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		m, err := certificate.Read(in)
		require.NoError(t, err)
		met := rapid.SliceOfN(rapid.SampledFrom(in.Groups), 0, 2).Draw(t, "groups with full nodes")
		hints := refute.Hints{Scarce: []string{"gpu"}, Tight: func() (pods []string) {
			for _, g := range met {
				for _, some := range g.Pending {
					pods = append(pods, some.Names[:min(1, len(some.Names))]...)
				}
			}
			return pods
		}}
		proof := refute.Prove(m, rapid.IntRange(0, 3000).Draw(t, "steps"), hints)
		if proof == nil {
			return
		}
		require.NoError(t, certificate.Verify(in, proof))
		nodes := newOracle(in).placement()
		require.Nil(t, nodes, "placed as %v, and proved not to be by %+v", nodes, proof.Rules)
	})
}
