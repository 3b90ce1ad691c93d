package load

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func smallName(i int) string { return fmt.Sprintf("small-%03d", i) }

// many creates small sets as fast as the API server takes them.
func (b *setsBench) many(ctx context.Context) error {
	exist := b.pods.count()
	sets := make([]*grovev1alpha1.PodCliqueSet, b.options.Sets)
	for i := range sets {
		sets[i] = smallSet(smallName(i))
	}
	return b.become(ctx, string(Many), exist+podsOfSmallSet*len(sets), func() error {
		return parallel(ctx, sets, b.createSet)
	})
}

// change is one thing that a user does to a small set.
type change func(ctx context.Context, set string) error

// round is what happens to a small set, one change a second. In the end it has as many pods as before.
func (b *setsBench) round() []change {
	return []change{
		b.editSet,
		func(ctx context.Context, set string) error { return b.scaleSet(ctx, set, 2) },
		func(ctx context.Context, set string) error { return b.scaleSet(ctx, set, 1) },
		func(ctx context.Context, set string) error { return b.scalePodClique(ctx, set+"-0-front", 2) },
		func(ctx context.Context, set string) error { return b.scalePodClique(ctx, set+"-0-front", 1) },
		func(ctx context.Context, set string) error { return b.scaleGroup(ctx, set+"-0-serve", 3) },
		func(ctx context.Context, set string) error { return b.scaleGroup(ctx, set+"-0-serve", 2) },
	}
}

// life changes one small set a second, whether or not the operator has come to rest. Without the part many it makes the sets
// first.
func (b *setsBench) life(ctx context.Context) error {
	if _, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Get(ctx, smallName(0), metav1.GetOptions{}); err != nil {
		if err := b.many(ctx); err != nil {
			return err
		}
	}
	exist := b.pods.count()
	round := b.round()
	err := b.become(ctx, string(Life), exist, func() error {
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

// editSet changes the template of a set, so that its pods are replaced.
func (b *setsBench) editSet(ctx context.Context, name string) error {
	edit := []byte(`[{"op":"add","path":"/spec/template/cliques/0/labels","value":{"edited":"once"}}]`)
	_, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Patch(ctx, name, types.JSONPatchType, edit, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("editing set %s: %w", name, err)
	}
	return nil
}

func (b *setsBench) scalePodClique(ctx context.Context, name string, replicas int) error {
	_, err := b.kai.GroveV1alpha1().PodCliques(namespace).Patch(ctx, name, types.MergePatchType, replicasPatch(replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scaling PodClique %s: %w", name, err)
	}
	return nil
}

func (b *setsBench) scaleGroup(ctx context.Context, name string, replicas int) error {
	_, err := b.kai.GroveV1alpha1().PodCliqueScalingGroups(namespace).Patch(ctx, name, types.MergePatchType, replicasPatch(replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scaling PodCliqueScalingGroup %s: %w", name, err)
	}
	return nil
}

func replicasPatch(replicas int) []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
}
