package load

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	large      = "large"
	standing   = "standing"
	ofReplica  = 2
	ofStanding = 20
)

// scale creates the large set, scales it to zero and back.
func (b *setsBench) scale(ctx context.Context) error {
	for _, step := range []struct {
		name string
		pods int
		do   func() error
	}{
		{"created", b.options.Replicas * ofReplica, func() error { return b.createSet(ctx, setOf(large, b.options.Replicas, ofReplica)) }},
		{"scaled to zero", 0, func() error { return b.scaleSet(ctx, large, 0) }},
		{"scaled back", b.options.Replicas * ofReplica, func() error { return b.scaleSet(ctx, large, b.options.Replicas) }},
	} {
		if err := b.become(ctx, step.name, step.pods, step.do); err != nil {
			return err
		}
	}
	return b.checkStatus(ctx, large, b.options.Replicas)
}

// checkStatus makes sure that what was measured came to the right end.
func (b *setsBench) checkStatus(ctx context.Context, name string, replicas int) error {
	set, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if int(set.Status.Replicas) != replicas || len(set.Status.LastErrors) > 0 {
		return fmt.Errorf("set %s at rest has %d replicas in its status, not %d, and errors %v", name, set.Status.Replicas, replicas, set.Status.LastErrors)
	}
	return nil
}

// restart makes pods up to the number that is asked for, and starts the operator anew: once with these pods, and once with
// as many more of nobody's.
func (b *setsBench) restart(ctx context.Context) error {
	exist := b.pods.count()
	replicas := (b.options.Pods - exist) / ofStanding
	err := b.become(ctx, "standing", exist+replicas*ofStanding, func() error { return b.createSet(ctx, setOf(standing, replicas, ofStanding)) })
	if err != nil {
		return err
	}
	for _, foreign := range []int{0, b.options.Foreign} {
		if err := b.createForeign(ctx, foreign); err != nil {
			return err
		}
		// What comes after the leader's election and the caches: every PodClique is looked at.
		list, err := b.kai.GroveV1alpha1().PodCliques(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		if err := b.startAnew(ctx, fmt.Sprintf("restart beside %d of nobody's", foreign), "podclique", len(list.Items)); err != nil {
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
	return b.create(ctx, nil, pods)
}
