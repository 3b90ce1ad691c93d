package controller_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Admission", func() {
	DescribeTable("turns down, and says where",
		func(ctx SpecContext, manifest, reason string) {
			err := k8s.Create(ctx, written(newNamespace(ctx), manifest))
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "got %v", err)
			Expect(err).To(MatchError(ContainSubstring(reason)))
			Expect(err).NotTo(MatchError(ContainSubstring("validation rules were not checked")))
		},
		Entry("a service's field that does not exist", strings.Replace(asMap, "replicas:", "replcas:", 1),
			`spec.services[0].replcas: unknown field, did you mean "replicas"?`),
		Entry("a deployment's constraint that says nothing",
			strings.Replace(asComponents, "{packDomain: zone}", "{}", 1),
			"is invalid: spec.topologyConstraint.packDomain: Required value: an empty topologyConstraint says nothing; "+
				"leave it out"),
		Entry("more replicas than can be meant", strings.Replace(asComponents, "type: worker", "replicas: 10001", 1),
			"spec.components[1].replicas: Invalid value: 10001: spec.components[1].replicas in body should be less than or "+
				"equal to 10000"),
		Entry("the same of a component", strings.Replace(asComponents, "type: worker", "multinode: {nodeCount: 1}", 1),
			"spec.components[1].multinode.nodeCount: Invalid value: 1: spec.components[1].multinode.nodeCount in body should "+
				"be greater than or equal to 2"),
		Entry("a field deep in a component's pods",
			strings.Replace(asComponents, "name: proxy, image: proxy", "name: proxy, imag: proxy", 1),
			`spec.components[0].podTemplate.spec.containers[0].imag: unknown field, did you mean "image"?`),
	)

	It("warns of what has no effect", func(ctx SpecContext) {
		config := rest.CopyConfig(cluster.Config)
		heard := &warnings{}
		config.WarningHandler = heard
		attentive, err := client.New(config, client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		object := written(newNamespace(ctx), strings.Replace(asMap, "componentType: frontend",
			"ingress: {enabled: true}", 1))
		Expect(attentive.Create(ctx, object)).To(Succeed())
		Expect(*heard).To(ContainElement(
			"spec.services[0].ingress: has no effect; write an Ingress for the service's Service (service \"Frontend\")"))
	})

	It("checks the topology at creation, and not again when an object is touched", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		levels := topology("short-lived-"+namespace, "zone", "rack")
		Expect(k8s.Create(ctx, levels)).To(Succeed())
		manifest := strings.Replace(asComponents, "{packDomain: zone}",
			"{packDomain: zone, clusterTopologyName: "+levels.Name+"}", 1)
		manifest = strings.Replace(manifest, "{packDomain: block, preferredDomain: rack}", "{packDomain: rack}", 1)
		object := written(namespace, manifest)
		Expect(k8s.Create(ctx, object)).To(Succeed())
		Expect(k8s.Delete(ctx, levels)).To(Succeed())

		patch := client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"touched":"yes"}},"spec":{"env":[{"name":"A"}]}}`))
		Expect(k8s.Patch(ctx, object, patch)).To(Succeed())
	})
})

// warnings are the warnings that a client got from the API server.
type warnings []string

// HandleWarningHeader keeps a warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	*w = append(*w, text)
}
