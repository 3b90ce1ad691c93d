package controller_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
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
		Entry("a constraint that is misspelt", strings.Replace(asComponents, "topologyConstraint:",
			"topologyConstrain:", 1),
			`spec.topologyConstrain: unknown field, did you mean "topologyConstraint"?`),
		Entry("a domain that the topology lacks", strings.Replace(asMap, "rack", "datacenter", 1),
			`spec.services[1].topologyConstraint.packDomain: Invalid value: "datacenter": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`),
		Entry("a deployment's constraint that says nothing",
			strings.Replace(asComponents, "{packDomain: zone}", "{}", 1),
			"is invalid: spec.topologyConstraint.packDomain: Required value: an empty topologyConstraint says nothing; "+
				"leave it out"),
		Entry("a component's constraint that says nothing",
			strings.Replace(asComponents, "{packDomain: block, preferredDomain: rack}", "{}", 1),
			"is invalid: spec.components[1].topologyConstraint.packDomain: Required value: "+
				"a topologyConstraint has a packDomain or a preferredDomain"),
		Entry("a topology that does not exist",
			strings.Replace(asComponents, "{packDomain: zone}", "{packDomain: zone, clusterTopologyName: aws}", 1),
			`spec.topologyConstraint.clusterTopologyName: Invalid value: "aws": ClusterTopology "aws" does not exist; existing ones: grove-topology`),
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

	It("keeps constraints as they are", func(ctx SpecContext) {
		object := written(newNamespace(ctx), asComponents)
		Expect(k8s.Create(ctx, object)).To(Succeed())
		for change, reason := range map[string]string{
			`{"spec":{"topologyConstraint":null}}`: "spec.topologyConstraint: Forbidden: cannot be removed: " +
				"immutable: delete the deployment and create it again",
			`{"spec":{"topologyConstraint":{"packDomain":"rack"}}}`: `spec.topologyConstraint.packDomain: Invalid value: "rack": was "zone"; immutable: delete the deployment and create it again`,
		} {
			err := k8s.Patch(ctx, object.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(change)))
			Expect(err).To(MatchError(ContainSubstring(reason)))
		}
	})

	It("keeps nothing of a deployment that was turned down", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		object := written(namespace, strings.Replace(asMap, "rack", "datacenter", 1))
		Expect(k8s.Create(ctx, object)).NotTo(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), &v1beta1.DynamoGraphDeployment{})).To(
			MatchError(apierrors.IsNotFound, "not found"))
		sets := &unstructured.UnstructuredList{}
		sets.SetAPIVersion("grove.io/v1alpha1")
		sets.SetKind("PodCliqueSetList")
		Expect(k8s.List(ctx, sets, client.InNamespace(namespace))).To(Succeed())
		Expect(sets.Items).To(BeEmpty())
	})
})

// warnings are the warnings that a client got from the API server.
type warnings []string

// HandleWarningHeader keeps a warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	*w = append(*w, text)
}
