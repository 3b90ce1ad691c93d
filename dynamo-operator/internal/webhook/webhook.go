// Package webhook serves admission and conversion of DynamoGraphDeployments.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/refusal"
)

// The paths under which the webhooks are served. Each takes both versions.
const (
	MutatePath   = "/mutate-dynamographdeployment"
	ValidatePath = "/validate-dynamographdeployment"
	ConvertPath  = "/convert"
	// warnPath takes Dynamo's kinds that have no effect.
	warnPath = "/warn-without-effect"
)

// Cluster answers questions about the cluster when a deployment is created. An error says that the answer is not known.
type Cluster interface {
	// Installed returns what is missing for deployments to be carried out at all; empty if nothing is missing.
	Installed() (string, error)
	// Topology returns the topology that a deployment's constraints refer to; nothing if it has none.
	Topology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error)
	// TransferTopology returns the topology that a deployment's kvTransferPolicy names; nothing if it names none.
	TransferTopology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error)
	// Try returns the cluster's answer to the objects that a deployment would become. Nothing is written.
	Try(context.Context, *v1beta1.DynamoGraphDeployment) admission.Verdict
}

// mutator completes deployments. It refuses unknown fields before the API server can drop them, and wrong constraints
// before the schema is checked.
type mutator struct{}

// Handle answers one review.
func (mutator) Handle(_ context.Context, request ctrladmission.Request) ctrladmission.Response {
	var fields map[string]any
	// Numbers stay integers, so that the patch contains only completed fields.
	if err := utiljson.Unmarshal(request.Object.Raw, &fields); err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	problems := admission.Complete(request.Kind.Version, fields)
	changed, err := specChanged(request, fields)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if len(problems) == 0 && changed {
		problems = admission.Unknown(request.Kind.Version, fields)
	}
	if len(problems) > 0 {
		return refusal.Of(request, refusal.Problems(problems))
	}
	completed, err := json.Marshal(fields)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	if wrong := wrongConstraints(request, completed); changed && len(wrong) > 0 {
		return refusal.Of(request, refusal.Errors(wrong))
	}
	return ctrladmission.PatchResponseFromRaw(request.Object.Raw, completed)
}

// wrongConstraints are the errors of a deployment's constraints, unless its old state had errors too: older rules
// accepted more, and that stays. If a constraint changed, the error says that it may not, rather than what is wrong
// with the new one.
func wrongConstraints(request ctrladmission.Request, completed []byte) field.ErrorList {
	candidate, err := read(request.Kind.Version, completed)
	if err != nil {
		return nil // The validator reports it.
	}
	if old, err := read(request.Kind.Version, request.OldObject.Raw); err == nil {
		if len(old.ValidateConstraints()) > 0 {
			return nil
		}
		if changed := candidate.ValidateConstraintsUpdate(old); len(changed) > 0 {
			return changed
		}
	}
	return candidate.ValidateConstraints()
}

// specChanged reports whether a request brings a new spec, after completion. So a deployment with fields of a newer
// release, as a downgrade leaves it, can still be labelled, and its finalizers can be removed.
func specChanged(request ctrladmission.Request, fields map[string]any) (bool, error) {
	if request.Operation != admissionv1.Update {
		return true, nil
	}
	var old map[string]any
	if err := utiljson.Unmarshal(request.OldObject.Raw, &old); err != nil {
		return false, fmt.Errorf("reading the old object: %w", err)
	}
	_, deleted, _ := unstructured.NestedString(fields, "metadata", "deletionTimestamp")
	return !deleted && !equality.Semantic.DeepEqual(old["spec"], fields["spec"]), nil
}

// validator refuses deployments that may not be written.
type validator struct{ cluster Cluster }

// Handle answers one review. An unchanged spec is let through unread: it may have fields of a newer release.
func (v validator) Handle(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
	var fields map[string]any
	if err := utiljson.Unmarshal(request.Object.Raw, &fields); err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	changed, err := specChanged(request, fields)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if errs := queueKept(request); len(errs) > 0 {
		return refusal.Of(request, refusal.Errors(errs))
	}
	if !changed {
		return ctrladmission.Allowed("")
	}
	candidate, err := read(request.Kind.Version, request.Object.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if request.Operation == admissionv1.Update {
		return v.update(ctx, request, candidate)
	}
	errs, err := v.create(ctx, candidate)
	if err != nil {
		return refusal.Unjudged(err)
	}
	return v.answer(ctx, request, candidate, errs)
}

// queueKept refuses another queue. It says nothing about objects that cannot be read.
func queueKept(request ctrladmission.Request) field.ErrorList {
	var old, changed metav1.PartialObjectMetadata
	if request.Operation != admissionv1.Update || json.Unmarshal(request.OldObject.Raw, &old) != nil ||
		json.Unmarshal(request.Object.Raw, &changed) != nil {
		return nil
	}
	return admission.QueueKept(old.Labels, changed.Labels)
}

// update judges a deployment only if its meaning changed: a deployment that older rules accepted can still be written
// in other words.
func (v validator) update(
	ctx context.Context, request ctrladmission.Request, candidate admission.Candidate,
) ctrladmission.Response {
	old, err := read(request.Kind.Version, request.OldObject.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest,
			fmt.Errorf("the stored deployment cannot be compared with the change, so it can only be deleted: %w", err))
	}
	if equality.Semantic.DeepEqual(old.Hub.Spec, candidate.Hub.Spec) {
		return ctrladmission.Allowed("").WithWarnings(candidate.Warnings()...)
	}
	return v.answer(ctx, request, candidate, candidate.ValidateUpdate(old))
}

func (v validator) create(ctx context.Context, candidate admission.Candidate) (field.ErrorList, error) {
	missing, err := v.cluster.Installed()
	if err != nil {
		return nil, err
	}
	if missing != "" {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), missing)}, nil
	}
	topology, err := v.cluster.Topology(ctx, candidate.Hub)
	if err != nil {
		return nil, err
	}
	return candidate.ValidateCreate(topology), nil
}

// answer adds the cluster's answer if the deployment is right by itself: otherwise each error would appear twice.
func (v validator) answer(
	ctx context.Context, request ctrladmission.Request, candidate admission.Candidate, errs field.ErrorList,
) ctrladmission.Response {
	topology, err := v.cluster.TransferTopology(ctx, candidate.Hub)
	if err != nil {
		return refusal.Unjudged(err)
	}
	warnings := append(candidate.Warnings(), candidate.TransferWarnings(topology)...)
	if len(errs) > 0 {
		return refusal.Of(request, refusal.Errors(errs)).WithWarnings(warnings...)
	}
	verdict := v.cluster.Try(ctx, candidate.Hub)
	if request.Operation == admissionv1.Update {
		verdict = verdict.AfterCreation()
	}
	warnings = append(warnings, candidate.WarningsOf(verdict)...)
	if causes := candidate.CausesOf(verdict); len(causes) > 0 {
		return refusal.Of(request, causes).WithWarnings(warnings...)
	}
	return ctrladmission.Allowed("").WithWarnings(warnings...)
}

// warner warns of objects that have no effect.
type warner struct{}

// Handle answers one review.
func (warner) Handle(_ context.Context, request ctrladmission.Request) ctrladmission.Response {
	if idle := admission.WithoutEffect(request.Kind.Group, request.Kind.Kind); idle != "" {
		return ctrladmission.Allowed("").WithWarnings(idle)
	}
	return ctrladmission.Allowed("")
}

func read(version string, raw []byte) (admission.Candidate, error) {
	switch version {
	case v1alpha1.GroupVersion.Version:
		written := &v1alpha1.DynamoGraphDeployment{}
		if err := json.Unmarshal(raw, written); err != nil {
			return admission.Candidate{}, fmt.Errorf("reading %s: %w", version, err)
		}
		return admission.FromV1Alpha1(written)
	case v1beta1.GroupVersion.Version:
		written := &v1beta1.DynamoGraphDeployment{}
		if err := json.Unmarshal(raw, written); err != nil {
			return admission.Candidate{}, fmt.Errorf("reading %s: %w", version, err)
		}
		return admission.FromV1Beta1(written), nil
	default:
		return admission.Candidate{}, fmt.Errorf("version %q is not known", version)
	}
}
