package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/refusal"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// clusterTopologyBindings validates bindings, which share their names and their users with ClusterTopologies.
type clusterTopologyBindings struct {
	*clusterTopologies
}

func judgeBinding(
	_ context.Context, _ ctrladmission.Request, binding *grovev1alpha1.ClusterTopologyBinding,
) field.ErrorList {
	return admission.ValidateBinding(binding)
}

// Default adds to a new binding the finalizer that its controller removes in the end.
func (*clusterTopologyBindings) Default(ctx context.Context, binding *grovev1alpha1.ClusterTopologyBinding) error {
	return holdNew(ctx, binding)
}

// ValidateCreate validates a new binding.
func (w *clusterTopologyBindings) ValidateCreate(
	ctx context.Context, binding *grovev1alpha1.ClusterTopologyBinding,
) (ctrladmission.Warnings, error) {
	taken, err := w.namesake(ctx, binding.Name)
	errs := admission.ValidateNameFree(topology.KindClusterTopologyBinding, binding.Name, taken)
	errs = append(errs, admission.ValidateBinding(binding)...)
	return admission.WarnOfBinding(binding), verdict(binding, topology.KindClusterTopologyBinding, errs, err)
}

// namesake is the ClusterTopology of a name, which exists or is about to be made by the operator; nil if there is none.
func (w *clusterTopologyBindings) namesake(ctx context.Context, name string) (*topology.Topology, error) {
	if w.kept != nil && w.kept.Name == name {
		return topology.Of(w.kept), nil
	}
	found, err := lookup.ClusterTopology(ctx, w.live, name)
	return topology.Of(found), err
}

// ValidateUpdate validates a changed binding.
func (w *clusterTopologyBindings) ValidateUpdate(
	ctx context.Context, old, binding *grovev1alpha1.ClusterTopologyBinding,
) (ctrladmission.Warnings, error) {
	if equality.Semantic.DeepEqual(old.Spec, binding.Spec) {
		return nil, nil
	}
	users, err := w.scheduledUsers(ctx, binding.Name)
	if err != nil {
		return nil, refusal.UnjudgedError(err)
	}
	errs := admission.ValidateBinding(binding)
	errs = append(errs, admission.ValidateLevelChange(topology.OfBinding(old), topology.OfBinding(binding), users)...)
	return admission.WarnOfBinding(binding), verdict(binding, topology.KindClusterTopologyBinding, errs, nil)
}

// ValidateDelete allows every deletion: a finalizer holds bindings in use.
func (*clusterTopologyBindings) ValidateDelete(
	context.Context, *grovev1alpha1.ClusterTopologyBinding,
) (ctrladmission.Warnings, error) {
	return nil, nil
}
