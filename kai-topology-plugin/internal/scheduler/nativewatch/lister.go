package nativewatch

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// both has the PodGroups of ours and the PodGroups that stand for native ones.
type both struct {
	schedulinglisters.PodGroupLister
	native schedulinglisters.PodGroupLister
}

// List returns those of all namespaces.
func (b both) List(selector labels.Selector) ([]*scheduling.PodGroup, error) {
	return join(selector, b.PodGroupLister, b.native)
}

// PodGroups returns those of a namespace.
func (b both) PodGroups(namespace string) schedulinglisters.PodGroupNamespaceLister {
	return bothIn{b.PodGroupLister.PodGroups(namespace), b.native.PodGroups(namespace)}
}

type bothIn struct {
	schedulinglisters.PodGroupNamespaceLister
	native schedulinglisters.PodGroupNamespaceLister
}

// List returns those of the namespace.
func (b bothIn) List(selector labels.Selector) ([]*scheduling.PodGroup, error) {
	return join(selector, b.PodGroupNamespaceLister, b.native)
}

// Get returns the one of a name.
func (b bothIn) Get(name string) (*scheduling.PodGroup, error) {
	if _, native := nativegroups.RefOf("", name); native {
		return b.native.Get(name)
	}
	return b.PodGroupNamespaceLister.Get(name)
}

type lister interface {
	List(selector labels.Selector) ([]*scheduling.PodGroup, error)
}

func join(selector labels.Selector, ours, native lister) ([]*scheduling.PodGroup, error) {
	some, err := ours.List(selector)
	if err != nil {
		return nil, err
	}
	others, err := native.List(selector)
	return slices.Concat(some, others), err
}
