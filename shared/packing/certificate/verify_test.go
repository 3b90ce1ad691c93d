package certificate_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/refute"
)

// prove looks for a proof.
func prove(t rapid.TB, in *certificate.Input) *certificate.Proof {
	m, err := certificate.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return refute.Prove(m, 8*certificate.MaxSteps, nil)
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
			if err := certificate.Verify(in, proof); err != nil {
				t.Fatal(err)
			}
		}
	})
}
