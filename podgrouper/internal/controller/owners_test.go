package controller_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func controlledBy(owner client.Object, kind schema.GroupVersionKind) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
}

var _ = Describe("An owner of any kind", func() {
	It("is read by its metadata, also if its kind is installed after its pods came", func(ctx SpecContext) {
		kind := schema.GroupVersionKind{Group: "readable.example.com", Version: "v1", Kind: "Fleet"}
		early := newPod("early", nil)
		early.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "readable.example.com/v1", Kind: "Fleet", Name: "unborn", UID: "42", Controller: new(true)},
		}
		create(ctx, early)
		Eventually(podGroupNameOf(ctx, "early")).Should(Equal("pg-unborn-42"))
		install(ctx, kind, apiextensionsv1.NamespaceScoped)
		upper, lower := newObject(kind, "upper"), newObject(kind, "lower")
		upper.SetLabels(map[string]string{kai.LabelQueue: "a"})
		create(ctx, upper)
		lower.SetOwnerReferences(controlledBy(upper, kind))
		create(ctx, lower)
		create(ctx, newPod("late", lower))
		// The kind may still count as missing, and is corrected then.
		Eventually(podGroupNameOf(ctx, "late")).Should(Equal("pg-upper-" + string(upper.GetUID())))
		Eventually(podGroup(ctx, "pg-upper-"+string(upper.GetUID()))).Should(HaveField("Spec.Queue", "a"))
		patch(ctx, upper, `{"metadata":{"labels":{"kai.scheduler/queue":"b"}}}`)
		Eventually(podGroup(ctx, "pg-upper-"+string(upper.GetUID()))).Should(HaveField("Spec.Queue", "b"))
	})

	It("may belong to no namespace", func(ctx SpecContext) {
		kind := schema.GroupVersionKind{Group: "readable.example.com", Version: "v1", Kind: "Region"}
		install(ctx, kind, apiextensionsv1.ClusterScoped)
		region := newObject(kind, namespace)
		Expect(api.Create(ctx, region)).To(Succeed())
		create(ctx, newPod("pod", region))
		name := "pg-" + namespace + "-" + string(region.GetUID())
		Eventually(podGroupNameOf(ctx, "pod")).Should(Equal(name))
		patch(ctx, region, `{"metadata":{"labels":{"kai.scheduler/queue":"b"}}}`)
		Eventually(podGroup(ctx, name)).Should(HaveField("Spec.Queue", "b"))
	})

	It("counts by its name alone if it may not be read, and wholly as soon as it may", func(ctx SpecContext) {
		kind := schema.GroupVersionKind{Group: "secret.example.com", Version: "v1", Kind: "Vault"}
		install(ctx, kind, apiextensionsv1.NamespaceScoped)
		upper, lower := newObject(kind, "upper"), newObject(kind, "lower")
		upper.SetLabels(map[string]string{kai.LabelQueue: "a"})
		create(ctx, upper)
		lower.SetOwnerReferences(controlledBy(upper, kind))
		create(ctx, lower)
		for i := range 20 {
			create(ctx, newPod(fmt.Sprintf("pod-%d", i), lower))
		}
		lowerGroup, upperGroup := "pg-lower-"+string(lower.GetUID()), "pg-upper-"+string(upper.GetUID())
		for i := range 20 {
			Eventually(podGroupNameOf(ctx, fmt.Sprintf("pod-%d", i))).Should(Equal(lowerGroup))
		}
		const reason = "metadata.ownerReferences: Forbidden: Vault lower cannot be read, " +
			"so that what it says and its own owners do not count: " +
			"allow the pod grouper to get, list and watch vaults.secret.example.com, by value owners of its chart"
		Eventually(podGroup(ctx, lowerGroup)).Should(
			WithTransform(validity, condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, reason)))
		warnings := 0
		for i := range 20 {
			notes, err := eventsOn(ctx, "Pod", fmt.Sprintf("pod-%d", i))()
			Expect(err).NotTo(HaveOccurred())
			warnings += len(notes)
		}
		Expect(warnings).To(BeNumerically("<=", 1), "one warning, not one for each pod")

		allow(ctx, kind.Group)
		for i := range 20 {
			Eventually(podGroupNameOf(ctx, fmt.Sprintf("pod-%d", i))).Should(Equal(upperGroup))
		}
		Eventually(podGroup(ctx, upperGroup)).Should(And(HaveField("Spec.Queue", "a"),
			WithTransform(validity, condition(metav1.ConditionTrue, scheduling.ReasonAccepted, ""))))
	})

	It("that cannot be read for the moment holds up its own pods only", func(ctx SpecContext) {
		kind := schema.GroupVersionKind{Group: "readable.example.com", Version: "v2", Kind: "Barge"}
		definition := definitionOf(kind, apiextensionsv1.NamespaceScoped)
		stored := *definition.Spec.Versions[0].DeepCopy()
		stored.Name = "v1"
		definition.Spec.Versions[0].Storage = false
		definition.Spec.Versions = append(definition.Spec.Versions, stored)
		definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/convert")},
			},
		}
		Expect(api.Create(ctx, definition)).To(Succeed())
		kind.Version = "v1"
		barge := newObject(kind, "barge")
		barge.SetNamespace(namespace)
		Eventually(func() error { return api.Create(ctx, barge) }).Should(Succeed())
		kind.Version = "v2"
		for i := range 40 {
			pod := newPod(fmt.Sprintf("barge-%d", i), nil)
			pod.OwnerReferences = controlledBy(barge, kind)
			create(ctx, pod)
		}
		Eventually(eventsOn(ctx, "Pod", "barge-0")).Should(
			ContainElement(ContainSubstring("conversion webhook")))
		create(ctx, newPod("other", nil))
		Eventually(podGroupNameOf(ctx, "other")).ShouldNot(BeEmpty())
		Expect(podGroupNameOf(ctx, "barge-0")()).To(BeEmpty())

		converting := definition.DeepCopy()
		definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		Expect(api.Patch(ctx, definition, client.MergeFrom(converting))).To(Succeed())
		Eventually(podGroupNameOf(ctx, "barge-39")).Should(Equal("pg-barge-" + string(barge.GetUID())))
	})

	It("in a cycle is reported", func(ctx SpecContext) {
		job := newJob("train", nil)
		create(ctx, job)
		stateful := newStatefulSet("web", job, schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"})
		create(ctx, stateful)
		job.OwnerReferences = controlledBy(stateful,
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"})
		Expect(api.Update(ctx, job)).To(Succeed())
		Eventually(knownJob(ctx, "train")).Should(HaveField("OwnerReferences", Not(BeEmpty())))
		create(ctx, newPod("pod", job))
		Eventually(eventsOn(ctx, "Pod", "pod")).Should(
			ContainElement(ContainSubstring("its owners make a cycle at Job")))
		Expect(podGroups(ctx)()).To(BeEmpty())
		patch(ctx, job, `{"metadata":{"ownerReferences":null}}`)
		Eventually(podGroupNameOf(ctx, "pod")).Should(Equal(podGroupOfJob(job)))
	})

	It("that is gone is waited for no longer than its pods are there", func(ctx SpecContext) {
		job := newJob("train", nil)
		create(ctx, job)
		Expect(api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() error { _, err := knownJob(ctx, "train")(); return err }).Should(
			MatchError(apierrors.IsNotFound, "not found"), "the pod grouper knows that it is gone")
		pod := create(ctx, newPod("left", job))
		Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
		// kubectl delete --cascade=orphan does this to the pods.
		patch(ctx, pod, `{"metadata":{"ownerReferences":null}}`)
		Eventually(podGroupNameOf(ctx, "left")).Should(Equal("pg-left-" + string(pod.UID)))
		Expect(api.Get(ctx, named("left"), &corev1.Pod{})).To(Succeed())
	})
})

// knownJob is a Job as the pod grouper knows it, which hears of Jobs and of pods separately.
func knownJob(ctx context.Context, name string) func() (*batchv1.Job, error) {
	return func() (*batchv1.Job, error) {
		known, job := &unstructured.Unstructured{}, &batchv1.Job{}
		known.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
		if err := cached.Get(ctx, named(name), known); err != nil {
			return nil, err
		}
		return job, runtime.DefaultUnstructuredConverter.FromUnstructured(known.Object, job)
	}
}
