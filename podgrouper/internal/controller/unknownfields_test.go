package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// manifest is a PodGroup from a client that asks for no strict validation, as kubectl does with --validate=false.
func manifest(spec string) *unstructured.Unstructured {
	GinkgoHelper()
	made := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte("metadata: {generateName: written-, namespace: default}\nspec: "+spec),
		&made.Object)).To(
		Succeed())
	made.SetGroupVersionKind(scheduling.GroupVersion.WithKind("PodGroup"))
	return made
}

var _ = Describe("A PodGroup with a field that does not exist", func() {
	BeforeEach(func() { warnings.messages = nil })

	DescribeTable("is turned down where another is probably meant",
		func(ctx SpecContext, spec string, reasons ...string) {
			err := client.WithFieldValidation(asking, "Ignore").Create(ctx, manifest(spec))
			Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
			for _, reason := range reasons {
				Expect(err).To(MatchError(ContainSubstring(reason)))
			}
			Expect(err).NotTo(MatchError(ContainSubstring("minMember: Required")))
		},
		Entry("groups", `{subgroups: [{name: a, minMember: 1}]}`,
			`spec.subgroups: unknown field, did you mean "subGroups"?`),
		Entry("a constraint", `{minMember: 1, topologyConstraints: {topology: network, requiredTopologyLevel: rack}}`,
			`spec.topologyConstraints: unknown field, did you mean "topologyConstraint"?`),
		Entry("deeper", `{subGroups: [{name: a, minMembers: 1, topologyConstraint: {requiredTopologyLvel: rack}}]}`,
			`spec.subGroups[0].minMembers: unknown field, did you mean "minMember"?`,
			`spec.subGroups[0].topologyConstraint.requiredTopologyLvel: unknown field, did you mean "requiredTopologyLevel"?`),
	)

	It("is kept, with a warning, where it is another owner's", func(ctx SpecContext) {
		made := manifest(`{minMember: 1, ofAnotherRelease: {x: 1}}`)
		Expect(client.WithFieldValidation(asking, "Ignore").Create(ctx, made)).To(Succeed())
		Expect(warnings.messages).To(
			ConsistOf("spec.ofAnotherRelease: unknown field, which says nothing to this scheduler"))
		Expect(made.Object["spec"]).To(HaveKey("ofAnotherRelease"))

		warnings.messages = nil
		made.SetLabels(map[string]string{"team": "a"})
		Expect(asking.Update(ctx, made)).To(Succeed(), "who labels it is not warned again")
		Expect(warnings.messages).To(BeEmpty())
	})
})
