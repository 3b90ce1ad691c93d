package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/refusal"
)

const grovePath = "/validate-podcliqueset"

// groveAdmission stands in for Grove's webhooks: it warns of pods that do not restart, and refuses one priority class.
// It also stands in for Kubernetes' OwnerReferencesPermissionEnforcement: the operator may not delete a set, and
// therefore cannot change its owner.
type groveAdmission struct{}

func (groveAdmission) Handle(_ context.Context, request ctrladmission.Request) ctrladmission.Response {
	set := &grovev1alpha1.PodCliqueSet{}
	if err := json.Unmarshal(request.Object.Raw, set); err != nil {
		return ctrladmission.Errored(400, err)
	}
	if len(request.OldObject.Raw) > 0 {
		old := &grovev1alpha1.PodCliqueSet{}
		if err := json.Unmarshal(request.OldObject.Raw, old); err != nil {
			return ctrladmission.Errored(400, err)
		}
		if !equality.Semantic.DeepEqual(old.OwnerReferences, set.OwnerReferences) {
			return ctrladmission.Denied("cannot set an ownerRef on a resource you can't delete")
		}
	}
	if set.Spec.Template.PriorityClassName == "high" {
		return refusal.Of(request, []metav1.StatusCause{{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.template.priorityClassName",
			Message: "Invalid value: not here",
		}})
	}
	var warnings []string
	for i, clique := range set.Spec.Template.Cliques {
		if clique.Spec.PodSpec.RestartPolicy == corev1.RestartPolicyNever {
			warnings = append(
				warnings, fmt.Sprintf("spec.template.cliques[%d].spec.podSpec.restartPolicy: acts like Always", i))
		}
	}
	return ctrladmission.Allowed("").WithWarnings(warnings...)
}

var _ = Describe("What Grove says of what a deployment becomes", func() {
	attentive := func() (client.Client, *warnings) {
		config := rest.CopyConfig(cluster.Config)
		heard := &warnings{}
		config.WarningHandler = heard
		attentive, err := client.New(config, client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		return attentive, heard
	}

	It("is reported to the writer of the deployment, in its own words", func(ctx SpecContext) {
		user, heard := attentive()
		namespace := newNamespace(ctx)
		alpha := written(namespace,
			strings.Replace(asMap, "      extraPodSpec:\n        mainContainer: {image: vllm",
				"      extraPodSpec:\n        restartPolicy: Never\n        mainContainer: {image: vllm", 1))
		Expect(user.Create(ctx, alpha)).To(Succeed())
		Expect(*heard).To(
			Equal(warnings{`spec.services[1].extraPodSpec.restartPolicy: acts like Always (service "Worker")`}),
			"once, of leader and workers")

		By("changing a deployment that stands")
		beta := written(namespace, asComponents)
		Expect(user.Create(ctx, beta)).To(Succeed())
		eventuallySet(ctx, namespace, "components")
		*heard = nil
		patch := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"add","path":"/spec/components/1/podTemplate/spec/restartPolicy","value":"Never"}]`))
		Expect(user.Patch(ctx, beta, patch)).To(Succeed())
		Expect(*heard).To(Equal(warnings{"spec.components[1].podTemplate.spec.restartPolicy: acts like Always"}))
	})

	It("keeps out what Grove would not take", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		refused := written(namespace, strings.Replace(asComponents, "spec:\n", "spec:\n  priorityClassName: high\n", 1))
		err := k8s.Create(ctx, refused)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "got %v", err)
		Expect(err).To(MatchError(ContainSubstring("spec.priorityClassName: Invalid value: not here")))

		By("changing a deployment that stands")
		object := written(namespace, asComponents)
		Expect(k8s.Create(ctx, object)).To(Succeed())
		eventuallySet(ctx, namespace, "components")
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"priorityClassName":"high"}}`))
		Expect(k8s.Patch(ctx, object, patch)).To(
			MatchError(ContainSubstring("spec.priorityClassName: Invalid value: not here")))
		Expect(deployment(ctx, namespace, "components").Spec.PriorityClassName).To(BeEmpty())
	})

	It("is asked for without anything being made", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		object := written(namespace, asComponents)
		Expect(k8s.Create(ctx, object, client.DryRunAll)).To(Succeed())
		Consistently(func() error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(object), &grovev1alpha1.PodCliqueSet{})
		}, "300ms").Should(MatchError(apierrors.IsNotFound, "not found"))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), &v1beta1.DynamoGraphDeployment{})).To(
			MatchError(apierrors.IsNotFound, "not found"))
	})

	It("is no matter where something else has the name: that is for the status", func(ctx SpecContext) {
		user, heard := attentive()
		namespace := newNamespace(ctx)
		foreign := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "components"}}
		foreign.Spec.Template.Cliques = []grovev1alpha1.PodCliqueTemplateSpec{{Name: "a",
			Spec: grovev1alpha1.PodCliqueSpec{
				PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			}}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		Expect(user.Create(ctx, written(namespace, asComponents))).To(Succeed())
		Expect(*heard).To(BeEmpty())
		eventuallyCondition(ctx, namespace, "components", v1beta1.ConditionReady, v1beta1.ReasonNameTaken)
	})
})
