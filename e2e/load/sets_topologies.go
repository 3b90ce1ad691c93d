package load

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const (
	used   = "used"
	unused = "unused"
)

// topologies has many sets use a topology, and changes it and another one.
func (b *setsBench) topologies(ctx context.Context) error {
	for _, name := range []string{used, unused} {
		if _, err := b.kai.GroveV1alpha1().ClusterTopologies().Create(ctx, clusterTopology(name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ClusterTopology %s: %w", name, err)
		}
	}
	sets := make([]*grovev1alpha1.PodCliqueSet, b.options.Users)
	for i := range sets {
		sets[i] = setOf(fmt.Sprintf("user-%04d", i), 1, 1)
		sets[i].Spec.Template.ClusterTopologyName = used
		sets[i].Spec.Template.TopologyConstraint = &grovev1alpha1.TopologyConstraint{PackDomain: grovev1alpha1.TopologyDomainRack}
	}
	all := b.pods.count() + len(sets)
	if err := b.become(ctx, "users", all, func() error { return parallel(ctx, sets, b.createSet) }); err != nil {
		return err
	}
	if err := b.become(ctx, "an unused topology changed", all, func() error { return b.setLevels(ctx, unused, "zone") }); err != nil {
		return err
	}
	if err := b.spread(ctx, "a level goes", metav1.ConditionTrue, "zone"); err != nil {
		return err
	}
	if err := b.spread(ctx, "it returns", metav1.ConditionFalse, "zone", "rack"); err != nil {
		return err
	}
	return b.become(ctx, "the topology deleted", all, func() error {
		return b.kai.GroveV1alpha1().ClusterTopologies().Delete(ctx, used, metav1.DeleteOptions{})
	})
}

func clusterTopology(name string) *grovev1alpha1.ClusterTopology {
	made := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, domain := range []grovev1alpha1.TopologyDomain{"zone", "rack"} {
		made.Spec.Levels = append(made.Spec.Levels, grovev1alpha1.TopologyLevel{Domain: domain, Key: keyOf(domain)})
	}
	return made
}

func keyOf(domain grovev1alpha1.TopologyDomain) string { return "load.example.com/" + string(domain) }

func (b *setsBench) setLevels(ctx context.Context, name string, domains ...grovev1alpha1.TopologyDomain) error {
	levels := ""
	for i, domain := range domains {
		if i > 0 {
			levels += ","
		}
		levels += fmt.Sprintf(`{"domain":%q,"key":%q}`, domain, keyOf(domain))
	}
	patch := fmt.Appendf(nil, `{"spec":{"levels":[%s]}}`, levels)
	_, err := b.kai.GroveV1alpha1().ClusterTopologies().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("changing the levels of ClusterTopology %s: %w", name, err)
	}
	return nil
}

// spread changes the levels of the topology in use and waits until all sets tell, as a watch sees it.
func (b *setsBench) spread(ctx context.Context, name string, wanted metav1.ConditionStatus, domains ...grovev1alpha1.TopologyDomain) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.Patience)
	defer cancel()
	sets := b.kai.GroveV1alpha1().PodCliqueSets(namespace)
	list, err := sets.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	events, err := sets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	told := map[string]bool{}
	see := func(set *grovev1alpha1.PodCliqueSet) {
		if set.Spec.Template.ClusterTopologyName == used {
			told[set.Name] = meta.IsStatusConditionPresentAndEqual(set.Status.Conditions, grovev1alpha1.ConditionTopologyLevelsUnavailable, wanted)
		}
	}
	for i := range list.Items {
		see(&list.Items[i])
	}
	allTell := func(ctx context.Context) (time.Time, error) {
		for count(told) < len(told) {
			select {
			case <-ctx.Done():
				return time.Time{}, fmt.Errorf("waiting until %d sets tell: %w; %d do", len(told), context.Cause(ctx), count(told))
			case event, open := <-events.ResultChan():
				set, ok := event.Object.(*grovev1alpha1.PodCliqueSet)
				if !open || !ok {
					return time.Time{}, fmt.Errorf("the watch of sets ended: %v", event)
				}
				see(set)
			}
		}
		return time.Now(), nil
	}
	return b.step(ctx, name, func() error { return b.setLevels(ctx, used, domains...) }, allTell)
}

func count(told map[string]bool) (yes int) {
	for _, is := range told {
		if is {
			yes++
		}
	}
	return yes
}
