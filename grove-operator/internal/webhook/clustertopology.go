package webhook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/refusal"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// clusterTopologies validates the requests of others: the operator's own requests are exempt in the webhook
// configuration, so that it can update the default topology before its webhooks are served.
type clusterTopologies struct {
	reader client.Reader
	// live reads past the cache.
	live client.Reader
	// kept is the default topology that the operator keeps; nil if topology awareness is off.
	kept *grovev1alpha1.ClusterTopology
}

// judgeWritten runs the validation that needs nothing but the topology.
func (w *clusterTopologies) judgeWritten(
	_ context.Context, request ctrladmission.Request, clusterTopology *grovev1alpha1.ClusterTopology,
) field.ErrorList {
	var errs field.ErrorList
	if request.Operation == admissionv1.Create {
		errs = admission.ValidateReservedName(clusterTopology, w.kept)
	} else if errs = admission.ValidateKeptLevels(w.kept, clusterTopology); len(errs) > 0 {
		return errs // Whether or not the levels are right.
	}
	return append(errs, admission.ValidateClusterTopology(clusterTopology)...)
}

// Default adds to a new topology the finalizer that its controller removes in the end. If the controller added it,
// the topology could be deleted before, although a set uses it already.
func (*clusterTopologies) Default(ctx context.Context, clusterTopology *grovev1alpha1.ClusterTopology) error {
	return holdNew(ctx, clusterTopology)
}

func holdNew(ctx context.Context, described client.Object) error {
	request, err := ctrladmission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if request.Operation == admissionv1.Create {
		controllerutil.AddFinalizer(described, grovev1alpha1.FinalizerClusterTopology)
	}
	return nil
}

// ValidateCreate validates a new topology.
func (w *clusterTopologies) ValidateCreate(
	ctx context.Context, clusterTopology *grovev1alpha1.ClusterTopology,
) (ctrladmission.Warnings, error) {
	errs := admission.ValidateReservedName(clusterTopology, w.kept)
	binding, err := lookup.ClusterTopologyBinding(ctx, w.live, clusterTopology.Name)
	errs = append(errs, admission.ValidateNameFree(topology.KindClusterTopology, clusterTopology.Name,
		topology.OfBinding(binding))...)
	errs = append(errs, admission.ValidateClusterTopology(clusterTopology)...)
	return nil, verdict(clusterTopology, topology.KindClusterTopology, errs, err)
}

// ValidateUpdate validates a changed topology. Labels and annotations are free.
func (w *clusterTopologies) ValidateUpdate(
	ctx context.Context, old, clusterTopology *grovev1alpha1.ClusterTopology,
) (ctrladmission.Warnings, error) {
	if slices.Equal(old.Spec.Levels, clusterTopology.Spec.Levels) {
		return nil, nil
	}
	if errs := admission.ValidateKeptLevels(w.kept, clusterTopology); len(errs) > 0 {
		return nil, verdict(clusterTopology, topology.KindClusterTopology, errs, nil)
	}
	users, err := w.scheduledUsers(ctx, clusterTopology.Name)
	if err != nil {
		return nil, refusal.UnjudgedError(err)
	}
	errs := admission.ValidateClusterTopology(clusterTopology)
	errs = append(errs, admission.ValidateLevelChange(topology.Of(old), topology.Of(clusterTopology), users)...)
	return nil, verdict(clusterTopology, topology.KindClusterTopology, errs, nil)
}

// ValidateDelete allows every deletion except that of the topology which the operator would make anew: a finalizer
// holds topologies in use.
func (w *clusterTopologies) ValidateDelete(
	_ context.Context, clusterTopology *grovev1alpha1.ClusterTopology,
) (ctrladmission.Warnings, error) {
	if reason := admission.Keeps(w.kept, clusterTopology.Name); reason != "" {
		resource := grovev1alpha1.GroupVersion.WithResource("clustertopologies").GroupResource()
		return nil, apierrors.NewForbidden(resource, clusterTopology.Name, errors.New(reason))
	}
	return nil, nil
}

// scheduledUsers are sets with scheduled pods that use a topology, the first ones by name: one more than an error names
// at most. If no PodClique's status counts such pods, the pods themselves are read: the cache may be behind.
func (w *clusterTopologies) scheduledUsers(ctx context.Context, name string) ([]admission.ScheduledUser, error) {
	users, err := lookup.UsersOf(ctx, w.reader, name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(users, func(a, b grovev1alpha1.PodCliqueSet) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var scheduled []admission.ScheduledUser
	for i := range users {
		pods, err := lookup.ScheduledPods(ctx, w.reader, &users[i])
		if err != nil {
			return nil, err
		}
		if pods > 0 {
			scheduled = append(scheduled, admission.ScheduledUser{Set: users[i].Namespace + "/" +
				users[i].Name, Pods: pods})
		}
		if len(scheduled) > admission.ScheduledUsersNamed {
			break
		}
	}
	if len(scheduled) > 0 {
		return scheduled, nil
	}
	return w.boundUsers(ctx, name)
}

func (w *clusterTopologies) boundUsers(ctx context.Context, name string) ([]admission.ScheduledUser, error) {
	counts, err := lookup.BoundUnder(ctx, w.live, name, admission.ScheduledUsersNamed)
	if err != nil {
		return nil, err
	}
	var scheduled []admission.ScheduledUser
	for set, pods := range counts {
		scheduled = append(scheduled, admission.ScheduledUser{Set: set.String(), Pods: pods})
	}
	slices.SortFunc(scheduled, func(a, b admission.ScheduledUser) int { return strings.Compare(a.Set, b.Set) })
	return scheduled, nil
}
