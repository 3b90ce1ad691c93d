package controller_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/definitions"
)

// second is an API server on which the suite's operator does not run, and bare is its client. It has no webhooks.
var (
	second *apiservertest.Cluster
	bare   client.Client
)

var _ = Describe("On an API server without the suite's operator", Ordered, func() {
	BeforeAll(func() {
		var err error
		second, err = apiservertest.StartEmpty()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(second.Stop()).To(Succeed()) })
		bare, err = client.New(second.Config, client.Options{Scheme: newScheme()})
		Expect(err).NotTo(HaveOccurred())
	})

	Context("without Grove, which may be installed after the operator, and removed before it", withoutGrove)
	// From here on there is Grove.
	Context("a pass that sees what was before the last change", stalePass)
	Context("two replicas of the operator", twoReplicas)
})

func withoutGrove() {
	key := client.ObjectKey{Namespace: "default", Name: "components"}
	ready := func(ctx SpecContext) *metav1.Condition {
		current := &v1beta1.DynamoGraphDeployment{}
		Expect(bare.Get(ctx, key, current)).To(Succeed())
		return meta.FindStatusCondition(current.Status.Conditions, v1beta1.ConditionReady)
	}

	BeforeAll(func() {
		install(func(name string) bool { return strings.HasSuffix(name, "."+v1beta1.GroupName) && !ofAdapters(name) })
		_, stop := runOperator(second.Config, ctrl.Options{})
		DeferCleanup(stop)
	})

	It("refuses to be relied on", func() {
		cluster := grove.Cluster{Reader: bare, Mapper: bare.RESTMapper()}
		Expect(cluster.Installed()).To(
			Equal("Grove is not installed in this cluster: install the grove-operator chart"))
	})

	It("says what to install, and makes nothing", func(ctx SpecContext) {
		Expect(bare.Create(ctx, written(key.Namespace, asComponents))).To(Succeed(),
			"there is no webhook here to refuse it")
		Eventually(ready).WithContext(ctx).Should(And(
			HaveField("Reason", v1beta1.ReasonNotInstalled),
			HaveField("Message", "Grove is not installed in this cluster: install the grove-operator chart"),
		))
		current := &v1beta1.DynamoGraphDeployment{}
		Expect(bare.Get(ctx, key, current)).To(Succeed())
		Expect(current.Status.State).To(Equal(v1beta1.StateFailed))
		Expect(meta.FindStatusCondition(current.Status.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)).To(
			HaveField("Status", metav1.ConditionUnknown))
	})

	It("goes on as soon as it is installed, and sees what becomes of it", func(ctx SpecContext) {
		install(ofGrove)
		set := &grovev1alpha1.PodCliqueSet{}
		Eventually(func() error { return bare.Get(ctx, key, set) }).Should(Succeed(), "the PodCliqueSet is created")
		Eventually(ready).WithContext(ctx).Should(HaveField("Reason", v1beta1.ReasonNotYetObserved))

		clique := &grovev1alpha1.PodClique{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "components-0-worker",
				Labels: map[string]string{grovev1alpha1.LabelPartOf: key.Name}},
			Spec: set.Spec.Template.Cliques[1].Spec,
		}
		Expect(bare.Create(ctx, clique)).To(Succeed())
		clique.Status.ScheduledReplicas = 1
		Expect(bare.Status().Update(ctx, clique)).To(Succeed())
		Eventually(func() (map[string]v1beta1.ServiceReplicaStatus, error) {
			current := &v1beta1.DynamoGraphDeployment{}
			err := bare.Get(ctx, key, current)
			return current.Status.Services, err
		}).Should(HaveKeyWithValue("Worker", HaveField("ScheduledReplicas", int32(1))), "PodCliques are watched")

		set.Status.ObservedGeneration = set.Generation
		Expect(bare.Status().Update(ctx, set)).To(Succeed())
		Eventually(ready).WithContext(ctx).Should(HaveField("Reason", v1beta1.ReasonServicesNotReady),
			"PodCliqueSets are watched")
	})

	It("carries out all but scaling adapters where a cluster was upgraded without their kind, and these once it is there",
		func(ctx SpecContext) {
			adapted := written(key.Namespace,
				strings.Replace(asComponents, "- name: Worker\n", "- name: Worker\n      scalingAdapter: {}\n", 1))
			adapted.SetName("adapted")
			Expect(bare.Create(ctx, adapted)).To(Succeed())
			current := &v1beta1.DynamoGraphDeployment{}
			failure := func() (*metav1.Condition, error) {
				err := bare.Get(ctx, client.ObjectKeyFromObject(adapted), current)
				return meta.FindStatusCondition(current.Status.Conditions, v1beta1.ConditionReady), err
			}
			Eventually(failure).Should(And(HaveField("Reason", v1beta1.ReasonNotInstalled), HaveField("Message",
				"scalingAdapter: the kind DynamoGraphDeploymentScalingAdapter is not installed in this cluster, "+
					"so replicas are the deployment's own: "+
					"apply the CRDs of the dynamo-operator chart")))
			Expect(bare.Get(ctx, client.ObjectKeyFromObject(adapted), &grovev1alpha1.PodCliqueSet{})).To(Succeed(),
				"the rest is made")

			install(ofAdapters)
			adapter := &v1alpha1.DynamoGraphDeploymentScalingAdapter{}
			Eventually(func() error {
				return bare.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: "adapted-worker"}, adapter)
			}).
				WithTimeout(slow).Should(Succeed())
			Eventually(failure).WithTimeout(slow).Should(HaveField("Reason", v1beta1.ReasonNotYetObserved))

			By("deleting one, which is made anew: they are watched")
			before := adapter.UID
			Expect(bare.Delete(ctx, adapter)).To(Succeed())
			Eventually(func() (types.UID, error) {
				err := bare.Get(ctx, client.ObjectKeyFromObject(adapter), adapter)
				return adapter.UID, err
			}).WithTimeout(slow).ShouldNot(Equal(before))
		})

	It("says so again when it is gone, and comes back with it", func(ctx SpecContext) {
		for _, definition := range definitionsOf(ofGrove) {
			Expect(bare.Delete(ctx, definition)).To(Succeed())
			Eventually(
				func() error { return bare.Get(ctx, client.ObjectKeyFromObject(definition), definition) }).WithTimeout(
				slow).
				Should(MatchError(apierrors.IsNotFound, "is gone"))
		}
		Eventually(ready).WithContext(ctx).WithTimeout(slow).Should(HaveField("Reason", v1beta1.ReasonNotInstalled))

		install(ofGrove)
		Eventually(func() error { return bare.Get(ctx, key, &grovev1alpha1.PodCliqueSet{}) }).WithTimeout(slow).Should(
			Succeed(), "the PodCliqueSet is created anew")
	})
}

func ofAdapters(name string) bool {
	return strings.HasPrefix(name, "dynamographdeploymentscalingadapters.")
}

func ofGrove(name string) bool { return strings.HasSuffix(name, "."+grovev1alpha1.GroupName) }

func definitionsOf(wanted func(name string) bool) []*apiextensionsv1.CustomResourceDefinition {
	all, err := definitions.All()
	ExpectWithOffset(2, err).NotTo(HaveOccurred())
	var some []*apiextensionsv1.CustomResourceDefinition
	for _, definition := range all {
		if wanted(definition.Name) {
			some = append(some, definition)
		}
	}
	ExpectWithOffset(2, some).NotTo(BeEmpty())
	return some
}

func install(wanted func(name string) bool) {
	_, err := envtest.InstallCRDs(second.Config, envtest.CRDInstallOptions{CRDs: definitionsOf(wanted), MaxTime: slow})
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
}
