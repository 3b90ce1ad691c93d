package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func smallName(i int) string { return fmt.Sprintf("small-%03d", i) }

// many creates small sets as fast as the API server takes them.
func (b *setsBench) many(ctx context.Context) error {
	sets := make([]*grovev1alpha1.PodCliqueSet, b.options.Sets)
	for i := range sets {
		sets[i] = smallSet(smallName(i))
	}
	return b.create(ctx, "many", podsOfSmallSet*len(sets), sets...)
}

// change is one change that a user makes to a small set.
type change func(ctx context.Context, set string) error

// round are the changes of a small set, one a second. At the end it has as many pods as before.
func (b *setsBench) round() []change {
	scaleSet := func(to int) change {
		return func(ctx context.Context, set string) error { return b.scaleSet(ctx, set, to) }
	}
	scalePodClique := func(to int) change {
		return func(ctx context.Context, set string) error {
			return b.merge(ctx, &grovev1alpha1.PodClique{ObjectMeta: named(set + "-0-front")}, replicas, to)
		}
	}
	scaleGroup := func(to int) change {
		return func(ctx context.Context, set string) error {
			return b.merge(ctx, &grovev1alpha1.PodCliqueScalingGroup{ObjectMeta: named(set + "-0-serve")}, replicas, to)
		}
	}
	return []change{b.edit, scaleSet(2), scaleSet(1), scalePodClique(2), scalePodClique(1), scaleGroup(3),
		scaleGroup(2)}
}

// life changes one small set a second, whether or not the operator has come to rest. Without the part many it creates
// the sets first.
func (b *setsBench) life(ctx context.Context) error {
	first := &grovev1alpha1.PodCliqueSet{ObjectMeta: named(smallName(0))}
	if err := b.Get(ctx, client.ObjectKeyFromObject(first), first); err != nil {
		if err := b.many(ctx); err != nil {
			return err
		}
	}
	round := b.round()
	err := b.reach(ctx, "life", b.pods.count(), func() error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; i < b.options.Changes || i%len(round) > 0; i++ {
			if err := round[i%len(round)](ctx, smallName(i/len(round)%b.options.Sets)); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.checkStatus(ctx, smallName(0), 1)
}

// edit changes the template of a set, so that its pods are replaced.
func (b *setsBench) edit(ctx context.Context, name string) error {
	edit := []byte(`[{"op":"add","path":"/spec/template/cliques/0/labels","value":{"edited":"once"}}]`)
	err := b.Patch(ctx, &grovev1alpha1.PodCliqueSet{ObjectMeta: named(name)},
		client.RawPatch(types.JSONPatchType, edit))
	if err != nil {
		return fmt.Errorf("editing set %s: %w", name, err)
	}
	return nil
}
