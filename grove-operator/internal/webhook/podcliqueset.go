// Package webhook serves the admission of PodCliqueSets, ClusterTopologies and ClusterTopologyBindings. The rules are
// those of package admission; this package reads the cluster for them.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/refusal"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// Paths at which the webhooks are served.
const (
	// DefaultPodCliqueSetPath sets defaults.
	DefaultPodCliqueSetPath = "/mutate-grove-io-v1alpha1-podcliqueset"
	// ValidatePodCliqueSetPath validates.
	ValidatePodCliqueSetPath = "/validate-grove-io-v1alpha1-podcliqueset"
	// HoldClusterTopologyPath validates levels before the schema does, and adds the finalizer to new ClusterTopologies.
	HoldClusterTopologyPath = "/mutate-grove-io-v1alpha1-clustertopology"
	// ValidateClusterTopologyPath validates.
	ValidateClusterTopologyPath = "/validate-grove-io-v1alpha1-clustertopology"
	// HoldBindingPath validates levels before the schema does, and adds the finalizer to new ClusterTopologyBindings.
	HoldBindingPath = "/mutate-grove-io-v1alpha1-clustertopologybinding"
	// ValidateBindingPath validates.
	ValidateBindingPath = "/validate-grove-io-v1alpha1-clustertopologybinding"
)

// Add registers all webhooks of an operator with this configuration. Its defaults are set already.
func Add(mgr manager.Manager, configuration *groveconfigv1alpha1.OperatorConfiguration) {
	sets := &podCliqueSets{
		client: mgr.GetClient(), live: mgr.GetAPIReader(),
		topologyAware:    configuration.TopologyAwareScheduling.Enabled,
		defaultScheduler: *configuration.DefaultSchedulerName,
	}
	topologies := &clusterTopologies{reader: mgr.GetClient(), live: mgr.GetAPIReader(),
		kept: topology.Default(configuration.TopologyAwareScheduling)}
	server := mgr.GetWebhookServer()
	server.Register(DefaultPodCliqueSetPath, &ctrladmission.Webhook{Handler: firstLook[*grovev1alpha1.PodCliqueSet]{
		empty: func() *grovev1alpha1.PodCliqueSet { return &grovev1alpha1.PodCliqueSet{} },
		judge: sets.judgeWritten, next: ctrladmission.WithDefaulter(mgr.GetScheme(), sets).Handler,
	}})
	server.Register(ValidatePodCliqueSetPath, ctrladmission.WithValidator(mgr.GetScheme(), sets))
	server.Register(HoldClusterTopologyPath, &ctrladmission.Webhook{Handler: firstLook[*grovev1alpha1.ClusterTopology]{
		empty: func() *grovev1alpha1.ClusterTopology { return &grovev1alpha1.ClusterTopology{} },
		judge: topologies.judgeWritten, next: ctrladmission.WithDefaulter(mgr.GetScheme(), topologies).Handler,
	}})
	server.Register(ValidateClusterTopologyPath, ctrladmission.WithValidator(mgr.GetScheme(), topologies))
	bindings := &clusterTopologyBindings{clusterTopologies: topologies}
	server.Register(HoldBindingPath, &ctrladmission.Webhook{Handler: firstLook[*grovev1alpha1.ClusterTopologyBinding]{
		empty: func() *grovev1alpha1.ClusterTopologyBinding { return &grovev1alpha1.ClusterTopologyBinding{} },
		judge: judgeBinding, next: ctrladmission.WithDefaulter(mgr.GetScheme(), bindings).Handler,
	}})
	server.Register(ValidateBindingPath, ctrladmission.WithValidator(mgr.GetScheme(), bindings))
}

type podCliqueSets struct {
	client client.Client
	// live reads past the cache, which may lack a ClusterTopology that was applied from the same file as the set.
	live             client.Reader
	topologyAware    bool
	defaultScheduler string
}

// Default sets the defaults that the schema cannot express. An update keeps earlier defaults.
func (*podCliqueSets) Default(ctx context.Context, set *grovev1alpha1.PodCliqueSet) error {
	request, err := ctrladmission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if _, err := complete(request, set); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// complete sets the defaults of a request's set and returns the old set; nil for a new one.
func complete(request ctrladmission.Request, set *grovev1alpha1.PodCliqueSet) (*grovev1alpha1.PodCliqueSet, error) {
	if request.Operation != admissionv1.Update {
		admission.SetDefaults(set)
		return nil, nil
	}
	old := &grovev1alpha1.PodCliqueSet{}
	if err := json.Unmarshal(request.OldObject.Raw, old); err != nil {
		return nil, fmt.Errorf("decoding the old PodCliqueSet: %w", err)
	}
	admission.SetDefaultsOnUpdate(old, set)
	return old, nil
}

// judgeWritten validates a set before its defaults are set; if that is not possible now, the validation that follows
// refuses the set.
func (w *podCliqueSets) judgeWritten(
	ctx context.Context, request ctrladmission.Request, set *grovev1alpha1.PodCliqueSet,
) field.ErrorList {
	old, err := complete(request, set)
	if err != nil {
		return nil
	}
	_, errs, err := w.judge(ctx, old, set)
	if err != nil {
		return nil
	}
	return errs
}

// ValidateCreate validates a new set.
func (w *podCliqueSets) ValidateCreate(
	ctx context.Context, set *grovev1alpha1.PodCliqueSet,
) (ctrladmission.Warnings, error) {
	warnings, errs, err := w.judge(ctx, nil, set)
	if err == nil {
		var unreadable field.ErrorList
		unreadable, err = admission.ValidateTemplatesElsewhere(set, w.mayRead(ctx))
		errs = append(errs, unreadable...)
	}
	return warnings, verdict(set, "PodCliqueSet", errs, err)
}

// mayRead asks the API server whether the user of a request may read a ResourceClaimTemplate.
func (w *podCliqueSets) mayRead(ctx context.Context) func(types.NamespacedName) (bool, error) {
	return func(template types.NamespacedName) (bool, error) {
		request, err := ctrladmission.RequestFromContext(ctx)
		if err != nil {
			return false, err
		}
		user := request.UserInfo
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "get", Group: resourcev1.GroupName, Resource: "resourceclaimtemplates",
				Namespace: template.Namespace, Name: template.Name,
			},
		}}
		for key, values := range user.Extra {
			review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
		if err := w.client.Create(ctx, review); err != nil {
			return false, fmt.Errorf("asking whether %s may read ResourceClaimTemplate %s: %w", user.Username, template, err)
		}
		return review.Status.Allowed, nil
	}
}

// ValidateUpdate validates a changed set.
func (w *podCliqueSets) ValidateUpdate(
	ctx context.Context, old, set *grovev1alpha1.PodCliqueSet,
) (ctrladmission.Warnings, error) {
	warnings, errs, err := w.judge(ctx, old, set)
	return warnings, verdict(set, "PodCliqueSet", errs, err)
}

// judge validates a set with its defaults set; a new one has no old state. An error means that the validation was not
// possible.
func (w *podCliqueSets) judge(
	ctx context.Context, old, set *grovev1alpha1.PodCliqueSet,
) (warnings []string, errs field.ErrorList, err error) {
	topologies := lookup.TopologiesIn(ctx, w.live)
	cluster := admission.Cluster{TopologyAware: w.topologyAware, Lookup: topologies.Find,
		DefaultScheduler: w.defaultScheduler}
	if old == nil {
		warnings, errs = admission.ValidateCreate(set, cluster)
		return warnings, errs, topologies.Err()
	}
	scheduled, err := w.scheduledPods(ctx, old, set)
	if err != nil {
		return nil, nil, err
	}
	warnings, errs = admission.ValidateUpdate(old, set, cluster, scheduled)
	return warnings, errs, topologies.Err()
}

// scheduledPods counts the pods on nodes. If a set changes to another topology because there are none, the pods
// themselves are counted: the status of their PodCliques is behind.
func (w *podCliqueSets) scheduledPods(ctx context.Context, old, set *grovev1alpha1.PodCliqueSet) (int32, error) {
	scheduled, err := lookup.ScheduledPods(ctx, w.client, set)
	if err != nil || scheduled > 0 || topology.NameFor(old) == topology.NameFor(set) {
		return scheduled, err
	}
	return lookup.BoundPods(ctx, w.live, set)
}

// ValidateDelete allows every deletion.
func (*podCliqueSets) ValidateDelete(context.Context, *grovev1alpha1.PodCliqueSet) (ctrladmission.Warnings, error) {
	return nil, nil
}

// verdict is the answer to a request. An object that could not be validated is not admitted.
func verdict(object client.Object, kind string, errs field.ErrorList, failure error) error {
	switch {
	case failure != nil:
		return refusal.UnjudgedError(failure)
	case len(errs) > 0:
		return apierrors.NewInvalid(schema.GroupKind{Group: grovev1alpha1.GroupName, Kind: kind},
			object.GetName(), errs)
	}
	return nil
}
