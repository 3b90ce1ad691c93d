package plugin

import (
	"fmt"
	"slices"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// companyIndex finds the PodGroups of a company by what gang.BaseOf returns for each.
const companyIndex = "packtree.dev/company"

// indexByCompany adds companyIndex to the cache of PodGroups.
func indexByCompany(informer cache.SharedIndexInformer) error {
	err := informer.AddIndexers(cache.Indexers{companyIndex: func(object any) ([]string, error) {
		podGroup, ok := object.(*scheduling.PodGroup)
		if !ok {
			return nil, fmt.Errorf("the cache of PodGroups holds a %T", object)
		}
		base, ok := gang.BaseOf(podGroup)
		if !ok {
			return nil, nil
		}
		return []string{base.String()}, nil
	}})
	if err != nil {
		return fmt.Errorf("indexing PodGroups by company: %w", err)
	}
	return nil
}

// meetCompany tells a gang where its companions stand, or are about to.
func (p *Plugin) meetCompany(assembled *gang.Gang) error {
	if assembled.Company == nil {
		return nil
	}
	assembled.Company.Others = nil
	for _, other := range p.companionsOf(assembled.PodGroup) {
		key := keyOfPodGroup(other)
		pods, err := p.shownPodsOf(key)
		if err != nil {
			return err
		}
		nodes := append(gang.NodesOf(pods), p.book.Nodes(key)...)
		slices.Sort(nodes)
		assembled.Company.Meet(key, slices.Compact(nodes))
	}
	return nil
}

// companionsOf returns the PodGroups, without the given one, that are in its company.
func (p *Plugin) companionsOf(podGroup *scheduling.PodGroup) []*scheduling.PodGroup {
	base, ok := gang.BaseOf(podGroup)
	if !ok {
		return nil
	}
	found, err := p.companies.ByIndex(companyIndex, base.String())
	if err != nil {
		klog.Background().Error(err, "Finding the companions of a gang", "podGroup", klog.KObj(podGroup))
		return nil
	}
	var others []*scheduling.PodGroup
	for _, object := range found {
		if other := object.(*scheduling.PodGroup); other.Name != podGroup.Name {
			others = append(others, other)
		}
	}
	return others
}

// companionMoved lets those try again that had to go where a gang stood or was planned, once it is there no more.
func (p *Plugin) companionMoved(key gang.Key) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return // The event of its deletion has been, or will be, the reason to look.
	}
	p.wakeCompanions(podGroup)
}

func (p *Plugin) wakeCompanions(podGroup *scheduling.PodGroup) {
	for _, other := range p.companionsOf(podGroup) {
		p.wake(keyOfPodGroup(other))
	}
}

// stands reports whether any pod of a gang is on a node, or about to be.
func (p *Plugin) stands(key gang.Key) bool {
	pods, err := p.shownPodsOf(key)
	return err != nil || slices.ContainsFunc(pods, gang.Standing) || len(p.book.Nodes(key)) > 0
}

// expectsElse reports whether an update of a PodGroup, by an annotation that has no generation, may have its gang go elsewhere: other
// pods are expected, and none of them stands.
func (p *Plugin) expectsElse(old, podGroup *scheduling.PodGroup) bool {
	return old.Annotations[scheduling.AnnotationExpectedPods] != podGroup.Annotations[scheduling.AnnotationExpectedPods] &&
		!p.roster.Placed(keyOfPodGroup(podGroup))
}

// sameCompany reports whether an update of a PodGroup leaves alone what it shares with whom, and for which topology its pods
// are made. These are annotations, which have no generation.
func sameCompany(old, podGroup *scheduling.PodGroup) bool {
	return !slices.ContainsFunc(scheduling.CarriedAnnotations(), func(key string) bool {
		return old.Annotations[key] != podGroup.Annotations[key]
	})
}
