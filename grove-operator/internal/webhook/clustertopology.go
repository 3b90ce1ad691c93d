package webhook

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/lookup"
)

// clusterTopologies judges what others than the operator do: its own requests are exempt in the webhook configuration, so
// that it can bring the default topology into line before its webhooks are served.
type clusterTopologies struct {
	reader client.Reader
}

// ValidateCreate judges a new topology.
func (*clusterTopologies) ValidateCreate(
	_ context.Context, clusterTopology *grovev1alpha1.ClusterTopology,
) (ctrladmission.Warnings, error) {
	errs := admission.ValidateReservedName(clusterTopology.Name)
	errs = append(errs, admission.ValidateClusterTopology(clusterTopology)...)
	return nil, verdict(clusterTopology, "ClusterTopology", errs, nil)
}

// ValidateUpdate judges a changed topology. Labels and annotations are free.
func (w *clusterTopologies) ValidateUpdate(
	ctx context.Context, old, clusterTopology *grovev1alpha1.ClusterTopology,
) (ctrladmission.Warnings, error) {
	if slices.Equal(old.Spec.Levels, clusterTopology.Spec.Levels) {
		return nil, nil
	}
	users, err := w.scheduledUsers(ctx, clusterTopology.Name)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	errs := admission.ValidateClusterTopology(clusterTopology)
	errs = append(errs, admission.ValidateLevelChange(old, clusterTopology, users)...)
	return nil, verdict(clusterTopology, "ClusterTopology", errs, nil)
}

// ValidateDelete lets every topology go: a finalizer holds those that are in use.
func (*clusterTopologies) ValidateDelete(context.Context, *grovev1alpha1.ClusterTopology) (ctrladmission.Warnings, error) {
	return nil, nil
}

// scheduledUsers are the sets with scheduled pods that use a topology.
func (w *clusterTopologies) scheduledUsers(ctx context.Context, name string) ([]string, error) {
	users, err := lookup.UsersOf(ctx, w.reader, name)
	if err != nil {
		return nil, err
	}
	var scheduled []string
	for i := range users {
		pods, err := lookup.ScheduledPods(ctx, w.reader, &users[i])
		if err != nil {
			return nil, err
		}
		if pods > 0 {
			scheduled = append(scheduled, users[i].Namespace+"/"+users[i].Name)
		}
	}
	return scheduled, nil
}
