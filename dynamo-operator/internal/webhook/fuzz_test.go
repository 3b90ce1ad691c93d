package webhook

import (
	"bytes"
	"testing"

	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/shared/mutants"
)

// FuzzReview: whatever is created or changed, each webhook answers, and says why if it refuses.
func FuzzReview(f *testing.F) {
	inputs := mutants.Files(f, nil, "../offline/testdata/types-*/input*.yaml", "../offline/testdata/gateway-epp/*.yaml")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		// One half of the program changes what is written, the other what is stored.
		written, _, _ := bytes.Cut(inputs(file, program[:len(program)/2]), []byte("\n"))
		stored, _, _ := bytes.Cut(inputs(file, program[len(program)/2:]), []byte("\n"))
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			for _, before := range []string{"", string(stored)} {
				request := review(version, before, string(written))
				for _, response := range []ctrladmission.Response{
					mutator{}.Handle(t.Context(), request), validator{everything{}}.Handle(t.Context(), request),
				} {
					if !response.Allowed && (response.Result == nil || response.Result.Message == "") {
						t.Fatalf("refused without a reason: %s, was %s", written, before)
					}
				}
			}
		}
	})
}
