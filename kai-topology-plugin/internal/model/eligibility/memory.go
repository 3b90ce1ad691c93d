package eligibility

import (
	"sync"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Memory is what decisions about pods of one profile have in common. Verdicts about nodes are not among it: the
// counts that packing keeps for a shape have them. It has one user at a time.
type Memory struct {
	filters   kubeframework.Filters
	resources *kubeframework.Resources
	claims    *kubeframework.Claims
	// changeable are known once all plugins of the profile are, which is after the memory is made.
	changeable func() []string
	decisions  int
	kinds      kinds
	// selects is set if the profile itself selects nodes by labels, which only a try shows; nil before that is known.
	selects *bool
}

// NewMemory returns an empty memory for a profile. Without filters nothing may be asked of it.
func NewMemory(filters kubeframework.Filters) *Memory {
	resources := kubeframework.NewResources(filters)
	return &Memory{
		filters: filters, resources: resources, claims: kubeframework.NewClaims(resources),
		kinds:      kinds{resources: resources},
		changeable: sync.OnceValue(func() []string { return kubeframework.Changeable(filters) }),
	}
}

// Filters returns what NewMemory was given.
func (m *Memory) Filters() kubeframework.Filters { return m.filters }

// Resources returns which resources count for the pods of the profile.
func (m *Memory) Resources() *kubeframework.Resources { return m.resources }
