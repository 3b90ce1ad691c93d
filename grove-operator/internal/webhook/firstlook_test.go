package webhook_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// written is a PodCliqueSet as a user writes it, mistakes included.
func written(name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte("spec: "+spec), &object.Object)).To(Succeed())
	object.SetGroupVersionKind(grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

// bare is a clique of a template with nothing but its name.
func bare(name string) string {
	return "{name: " + name + ", spec: {podSpec: {containers: [{name: main, image: x}]}}}"
}

func template(text string) string {
	return "{replicas: 1, template: {" + text + "}}"
}

const ofTheSet = "spec.template.topologyConstraint"

func applied(name, spec string) runtime.ApplyConfiguration {
	GinkgoHelper()
	return client.ApplyConfigurationFromUnstructured(written(name, spec))
}

// validation is how strict a client asks the API server to be: Ignore is kubectl's --validate=false.
func validation(directive string) client.FieldValidation {
	return client.FieldValidation(directive)
}

var _ = Describe("The form of a PodCliqueSet", func() {
	DescribeTable("is refused with where it is wrong, however strict the client asks to be",
		func(spec string, want ...string) {
			for _, directive := range []string{metav1.FieldValidationIgnore, metav1.FieldValidationWarn,
				metav1.FieldValidationStrict} {
				err := c.Create(ctx, written("flawed", spec), validation(directive))
				for _, finding := range want {
					Expect(err).To(MatchError(ContainSubstring(finding)), directive)
				}
				Expect(causes(err)).To(HaveLen(len(want)), directive)
			}
		},
		Entry("a misspelt field",
			"{replicas: 1, template: {cliqes: [], cliques: [{name: a, spec: {minAvailible: 1, podSpec: {containers: [{name: "+
				"main, image: x}]}}}]}}",
			`spec.template.cliqes: unknown field, did you mean "cliques"?`,
			`spec.template.cliques[0].spec.minAvailible: unknown field, did you mean "minAvailable"?`),
		Entry("one that hides a field which must be there",
			"{replicas: 1, template: {cliques: [{name: a, spec: {podSpc: {containers: [{name: main, image: x}]}}}]}}",
			`spec.template.cliques[0].spec.podSpc: unknown field, did you mean "podSpec"?`,
			`spec.template.cliques[0].spec.podSpec.containers: Required value`),
		Entry("together with what else is wrong",
			"{replcas: 1, template: {cliques: [{name: a, spec: {replicas: 1, minAvailable: 2, podSpec: {nodeName: node-1, "+
				"containers: [{name: main, image: x}]}}}]}}",
			`spec.replcas: unknown field, did you mean "replicas"?`,
			`spec.template.cliques[0].spec.minAvailable: Invalid value: 2: must not be greater than replicas, 1`,
			`spec.template.cliques[0].spec.podSpec.nodeName: Forbidden: the scheduler chooses the node`),
		Entry("values of a wrong type",
			"{replicas: two, template: {terminationDelay: soon, cliques: [{name: a, spec: {podSpec: "+
				"{terminationGracePeriodSeconds: 1m, containers: [{name: main, image: x, args: --port, env: [{name: PORT, "+
				"value: 8000}], resources: {limits: {cpu: lots}}, ports: [{containerPort: http}]}]}}}]}}",
			`spec.replicas: must be a whole number, not "two"`,
			`spec.template.terminationDelay: must be a duration such as 30s or 4h, not "soon"`,
			`spec.template.cliques[0].spec.podSpec.terminationGracePeriodSeconds: must be a whole number, not "1m"`,
			`spec.template.cliques[0].spec.podSpec.containers[0].args: must be a list, not "--port"`,
			`spec.template.cliques[0].spec.podSpec.containers[0].env[0].value: must be a string, in quotes, not 8000`,
			`spec.template.cliques[0].spec.podSpec.containers[0].resources.limits[cpu]: must be an amount such as 4, 500m or 16Gi, not "lots"`,
			`spec.template.cliques[0].spec.podSpec.containers[0].ports[0].containerPort: must be a whole number, not "http"`),
	)

	It("still lets two managers apply their own parts of a clique, and finds their misspelt fields", func() {
		const main = "{template: {cliques: [{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}}"
		Expect(c.Apply(ctx, applied("shared", main), client.FieldOwner("one"))).To(Succeed())
		Expect(
			c.Apply(ctx, applied("shared",
				"{template: {cliques: [{name: a, spec: {podSpec: {containers: [{name: main, env: [{name: A, value: b}]}]}}}]}}"),
				client.FieldOwner("two"))).To(Succeed())
		made := &grovev1alpha1.PodCliqueSet{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "shared"}, made)).To(Succeed())
		Expect(made.Spec.Template.Cliques).To(HaveLen(1))
		container := made.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0]
		Expect([]string{container.Image, container.Env[0].Name}).To(Equal([]string{"x", "A"}))
		err := c.Apply(ctx, applied("shared",
			"{template: {cliques: [{name: a, spec: {podSpec: {containers: [{name: main, imge: y}]}}}]}}"),
			client.FieldOwner("two"))
		Expect(err).To(MatchError(
			ContainSubstring(
				`spec.template.cliques[0].spec.podSpec.containers[0].imge: unknown field, did you mean "image"?`)))
	})

	It("is judged anew when the spec changes, and keeps what the set had been given", func() {
		made := set(plain)
		made.Spec.Template.Cliques[0].Spec.Replicas = 2
		Expect(c.Create(ctx, made)).To(Succeed())
		err := c.Patch(ctx, made.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(
			`{"spec":{"replcas":3,"template":{"cliques":[{"name":"a","spec":{"replicas":3,"podSpec":{"containers":[{"name":"main","image":"x"}]}}}]}}}`)), validation(metav1.FieldValidationIgnore))
		Expect(causes(err)).To(ConsistOf("spec.replcas"))
	})

	It("does not keep a set from being labelled and deleted that has what this release does not know", func() {
		made := set(plain)
		made.Finalizers = []string{"example.com/hold"}
		Expect(c.Create(ctx, made)).To(Succeed())
		newer := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"newer":true}}`))
		Expect(as(laterRelease).Patch(ctx, made.DeepCopy(), newer)).To(Succeed())
		label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		Expect(c.Patch(ctx, made.DeepCopy(), label)).To(Succeed())
		scale := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
		Expect(causes(c.Patch(ctx, made.DeepCopy(), scale))).To(ConsistOf("spec.newer"))
		Expect(c.SubResource("scale").Patch(ctx, made.DeepCopy(), scale)).To(Succeed())
		Expect(c.Delete(ctx, made)).To(Succeed())
		Expect(c.Patch(ctx, made.DeepCopy(),
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(made), made) }).Should(
			MatchError(ContainSubstring("not found")))
	})
})
