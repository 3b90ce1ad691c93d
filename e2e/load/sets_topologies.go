package load

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/client/clientset/versioned"
)

const (
	used   = "used"
	unused = "unused"
)

// topologies makes many sets use a topology, and changes that topology and another one.
func (b *setsBench) topologies(ctx context.Context) error {
	for _, name := range []string{used, unused} {
		if err := b.Create(ctx, clusterTopology(name)); err != nil {
			return fmt.Errorf("creating ClusterTopology %s: %w", name, err)
		}
	}
	sets := make([]*grovev1alpha1.PodCliqueSet, b.options.Users)
	for i := range sets {
		sets[i] = setOf(fmt.Sprintf("user-%04d", i), 1, 1)
		sets[i].Spec.Template.ClusterTopologyName = used
		sets[i].Spec.Template.TopologyConstraint = &grovev1alpha1.TopologyConstraint{
			PackDomain: grovev1alpha1.TopologyDomainRack,
		}
	}
	if err := b.create(ctx, "users", len(sets), sets...); err != nil {
		return err
	}
	all := b.pods.count()
	if err := b.reach(ctx, "an unused topology changed", all,
		func() error { return b.setLevels(ctx, unused, "zone") }); err != nil {
		return err
	}
	if err := b.spread(ctx, "a level goes", metav1.ConditionTrue, "zone"); err != nil {
		return err
	}
	if err := b.spread(ctx, "it returns", metav1.ConditionFalse, "zone", "rack"); err != nil {
		return err
	}
	return b.reach(ctx, "the topology deleted", all, func() error {
		return b.Delete(ctx, clusterTopology(used))
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
	return b.merge(ctx, clusterTopology(name), `{"spec":{"levels":[%s]}}`, levels)
}

// spread changes the levels of the used topology and waits until the conditions of all sets show it, by a watch.
func (b *setsBench) spread(
	ctx context.Context, name string, wanted metav1.ConditionStatus, domains ...grovev1alpha1.TopologyDomain,
) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.Patience)
	defer cancel()
	ofOurKinds, err := versioned.NewForConfig(b.config)
	if err != nil {
		return err
	}
	sets := ofOurKinds.GroveV1alpha1().PodCliqueSets(namespace)
	list, err := sets.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	events, err := sets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	said := map[string]bool{}
	see := func(set *grovev1alpha1.PodCliqueSet) {
		if set.Spec.Template.ClusterTopologyName == used {
			said[set.Name] = meta.IsStatusConditionPresentAndEqual(
				set.Status.Conditions, grovev1alpha1.ConditionTopologyLevelsUnavailable, wanted)
		}
	}
	for i := range list.Items {
		see(&list.Items[i])
	}
	allSay := func(ctx context.Context) (time.Time, error) {
		for count(said) < len(said) {
			select {
			case <-ctx.Done():
				return time.Time{}, fmt.Errorf("waiting until the conditions of %d sets say so: %w; those of %d do",
					len(said), context.Cause(ctx), count(said))
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
	return b.step(ctx, name, func() error { return b.setLevels(ctx, used, domains...) }, allSay)
}

func count(said map[string]bool) (yes int) {
	for _, is := range said {
		if is {
			yes++
		}
	}
	return yes
}
