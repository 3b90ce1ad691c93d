package main

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

// spread changes the levels of the used topology and waits until the conditions of all sets show it.
func (b *setsBench) spread(
	ctx context.Context, name string, wanted metav1.ConditionStatus, domains ...grovev1alpha1.TopologyDomain,
) error {
	kinds, err := versioned.NewForConfig(b.config)
	if err != nil {
		return err
	}
	sets := &counter{done: func(object metav1.Object) bool {
		set, is := object.(*grovev1alpha1.PodCliqueSet)
		return is && (set.Spec.Template.ClusterTopologyName != used || meta.IsStatusConditionPresentAndEqual(
			set.Status.Conditions, grovev1alpha1.ConditionTopologyLevelsUnavailable, wanted))
	}}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	err = sets.watch(watching, kinds.GroveV1alpha1().RESTClient(), "podcliquesets", &grovev1alpha1.PodCliqueSet{})
	if err != nil {
		return err
	}
	return b.step(ctx, name, func() error { return b.setLevels(ctx, used, domains...) },
		func(ctx context.Context) (time.Time, error) { return b.become(ctx, sets, sets.count()) })
}
