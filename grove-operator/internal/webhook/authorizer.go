package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/refusal"

	"packtree.dev/grove-operator/internal/admission"
)

// AuthorizePath is where the authorizer is served.
const AuthorizePath = "/authorize-managed-objects"

// AddAuthorizer registers the webhook that protects the operator's objects from all but itself, Kubernetes and the
// exempt users.
func AddAuthorizer(ctx context.Context, mgr manager.Manager, exempt []string) error {
	self := &authenticationv1.SelfSubjectReview{}
	ask := func(ctx context.Context) error { return mgr.GetClient().Create(ctx, self) }
	if err := managerstart.Settle(ctx, ask); err != nil {
		return fmt.Errorf("asking the API server for the operator's user name: %w", err)
	}
	users := admission.Users{Operator: self.Status.UserInfo.Username, Exempt: exempt}
	mgr.GetWebhookServer().Register(AuthorizePath,
		&ctrlwebhook.Admission{Handler: &authorizer{reader: mgr.GetClient(), users: users}})
	return nil
}

type authorizer struct {
	reader client.Reader
	users  admission.Users
}

// Handle authorizes a change or a deletion of a managed object.
func (a *authorizer) Handle(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
	if a.users.Unbound(request.UserInfo.Username) {
		return ctrladmission.Allowed("")
	}
	before, err := decode(request.OldObject.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if !admission.Protected(before) {
		return ctrladmission.Allowed("")
	}
	objection, err := objectionTo(request, before)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if objection == "" {
		return ctrladmission.Allowed("")
	}
	set, err := a.setOf(ctx, before)
	if err != nil {
		return refusal.Unjudged(err)
	}
	if off := admission.Unprotected(set); off != "" {
		return ctrladmission.Allowed(off)
	}
	return ctrladmission.Denied(objection)
}

func objectionTo(request ctrladmission.Request, before *unstructured.Unstructured) (string, error) {
	switch request.Operation {
	case admissionv1.Delete:
		return admission.DeleteManaged(before), nil
	case admissionv1.Update:
		after, err := decode(request.Object.Raw)
		if err != nil {
			return "", err
		}
		return admission.UpdateManaged(before, after), nil
	default:
		return "", nil
	}
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return nil, fmt.Errorf("decoding a managed object: %w", err)
	}
	return object, nil
}

// setOf returns the set from which a managed object was made, or nil.
func (a *authorizer) setOf(
	ctx context.Context, object *unstructured.Unstructured,
) (*grovev1alpha1.PodCliqueSet, error) {
	set := &grovev1alpha1.PodCliqueSet{}
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[grovev1alpha1.LabelPartOf]}
	err := a.reader.Get(ctx, key, set)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodCliqueSet %s: %w", key, err)
	}
	return set, nil
}
