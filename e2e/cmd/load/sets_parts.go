package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const (
	large      = "large"
	standing   = "standing"
	ofReplica  = 2
	ofStanding = 20
)

// scale creates the large set, scales it to zero and back.
func (b *setsBench) scale(ctx context.Context) error {
	pods := b.options.Replicas * ofReplica
	if err := b.create(ctx, "created", pods, setOf(large, b.options.Replicas, ofReplica)); err != nil {
		return err
	}
	if err := b.reach(ctx, "scaled to zero", 0, func() error { return b.scaleSet(ctx, large, 0) }); err != nil {
		return err
	}
	if err := b.reach(ctx, "scaled back", pods,
		func() error { return b.scaleSet(ctx, large, b.options.Replicas) }); err != nil {
		return err
	}
	return b.checkStatus(ctx, large, b.options.Replicas)
}

// checkStatus makes sure that the measured action had the right result.
func (b *setsBench) checkStatus(ctx context.Context, name string, replicas int) error {
	set := &grovev1alpha1.PodCliqueSet{ObjectMeta: named(name)}
	if err := b.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return err
	}
	if int(set.Status.Replicas) != replicas || len(set.Status.LastErrors) > 0 {
		return fmt.Errorf("set %s at rest has %d replicas in its status, not %d, and errors %v", name,
			set.Status.Replicas, replicas, set.Status.LastErrors)
	}
	return nil
}

// restart makes pods up to the wanted number, and restarts the operator: once with these pods, and once with as many
// pods of no set in addition.
func (b *setsBench) restart(ctx context.Context) error {
	count := (b.options.Pods - b.pods.count()) / ofStanding
	if err := b.create(ctx, "standing", count*ofStanding, setOf(standing, count, ofStanding)); err != nil {
		return err
	}
	for _, foreign := range []int{0, b.options.Foreign} {
		if err := b.createForeign(ctx, foreign); err != nil {
			return err
		}
		// After the leader's election and the filling of caches every PodClique is reconciled.
		var list grovev1alpha1.PodCliqueList
		if err := b.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if err := b.startAnew(ctx, fmt.Sprintf("restart beside %d of nobody's", foreign), "podclique",
			len(list.Items)); err != nil {
			return err
		}
		if b.options.Foreign == 0 {
			break
		}
	}
	return nil
}

func (b *setsBench) createForeign(ctx context.Context, count int) error {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = podOf("foreign", fmt.Sprintf("foreign-%05d", i), "nobody")
	}
	return createAll(ctx, b.bench, pods)
}
