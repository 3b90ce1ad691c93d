package topology

import (
	"cmp"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/domains"
)

// The kinds that describe a network.
const (
	KindClusterTopology        = grovev1alpha1.KindClusterTopology
	KindClusterTopologyBinding = grovev1alpha1.KindClusterTopologyBinding
)

// Topology is a ClusterTopology or a ClusterTopologyBinding as an input of decisions.
type Topology struct {
	// ClusterTopology has the metadata, levels and status.
	grovev1alpha1.ClusterTopology
	// Kind of the two.
	Kind string
	// Referenced is the existing Topology that the scheduler reads; empty if the operator makes one.
	Referenced string
}

// Of converts a ClusterTopology; nil for nil.
func Of(clusterTopology *grovev1alpha1.ClusterTopology) *Topology {
	if clusterTopology == nil {
		return nil
	}
	return &Topology{ClusterTopology: *clusterTopology, Kind: KindClusterTopology}
}

// OfBinding converts a ClusterTopologyBinding; nil for nil.
func OfBinding(binding *grovev1alpha1.ClusterTopologyBinding) *Topology {
	if binding == nil {
		return nil
	}
	view := &Topology{Kind: KindClusterTopologyBinding, Referenced: referenced(binding)}
	view.ObjectMeta, view.Status = binding.ObjectMeta, binding.Status.ClusterTopologyStatus
	for _, level := range binding.Spec.Levels {
		view.Spec.Levels = append(view.Spec.Levels, grovev1alpha1.TopologyLevel(level))
	}
	return view
}

// referenced is the Topology that a binding names for our scheduler; empty if it names none.
func referenced(binding *grovev1alpha1.ClusterTopologyBinding) string {
	for _, of := range binding.Spec.SchedulerTopologyBindings {
		if of.SchedulerName == kaiv1alpha1.SchedulerName {
			return of.TopologyReference
		}
	}
	return ""
}

// SchedulerName is the name of the Topology that the scheduler reads instead.
func (t *Topology) SchedulerName() string {
	return cmp.Or(t.Referenced, t.Name)
}

// Order is the order of the levels' domains.
func (t *Topology) Order() domains.Order {
	named := make([]grovev1alpha1.TopologyDomain, len(t.Spec.Levels))
	for i, level := range t.Spec.Levels {
		named[i] = level.Domain
	}
	return domains.OrderOf(named)
}

// orderIn is the order by which the domains of a topology are compared: domains that a ClusterTopology lacks have a
// place too.
func orderIn(t *Topology) domains.Order {
	if t == nil || t.Kind == KindClusterTopology {
		return domains.All()
	}
	return t.Order()
}
