package endure

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var notOfJobs = func() labels.Selector {
	requirement, err := labels.NewRequirement(batchv1.JobNameLabel, selection.DoesNotExist, nil)
	if err != nil {
		panic(err)
	}
	return labels.NewSelector().Add(*requirement)
}()

// dead is the taint of a node that has died: its pods are evicted, as after the five minutes of a real node.
const dead = "endure.packtree.dev/dead"

func die(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: dead, Effect: corev1.TaintEffectNoExecute})
}

func revive(n *corev1.Node) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == dead })
}

func cordon(unschedulable bool) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Unschedulable = unschedulable }
}

// moveAway puts a node into a rack of its own, in its block, and moveBack returns it.
func moveAway(n *corev1.Node) { n.Labels[rackLabel] = "rack-of-" + n.Name }

func moveBack(n *corev1.Node) {
	for i := range racks * nodesPerRack {
		if original := node(i); original.Name == n.Name {
			n.Labels = original.Labels
		}
	}
}

// nodeChanges changes a node for a while.
func nodeChanges(change, back func(*corev1.Node)) doing {
	return func(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
		fresh := node(random.IntN(racks * nodesPerRack))
		if !c.alone(fresh.Name) {
			return nil, nil
		}
		c.did("node faults", "%s is changed", fresh.Name)
		return func(ctx context.Context) error {
			defer c.free(fresh.Name)
			return c.changeNode(ctx, fresh, back)
		}, c.changeNode(ctx, fresh, change)
	}
}

func (c *Campaign) changeNode(ctx context.Context, of *corev1.Node, change func(*corev1.Node)) error {
	return insist(ctx, func() error {
		read := &corev1.Node{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(of), read); err != nil {
			return err
		}
		before := read.DeepCopy()
		change(read)
		return c.Patch(ctx, read, client.MergeFrom(before))
	})
}

// flap dies and revives quickly, some times.
func flap(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	fresh := node(random.IntN(racks * nodesPerRack))
	if !c.alone(fresh.Name) {
		return nil, nil
	}
	defer c.free(fresh.Name)
	c.did("node faults", "%s flaps", fresh.Name)
	for range 3 {
		if err := c.changeNode(ctx, fresh, die); err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
		if err := c.changeNode(ctx, fresh, revive); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// deleteNode deletes a node, which comes back under its name, with its pods still there or not.
func deleteNode(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	fresh := node(random.IntN(racks * nodesPerRack))
	if !c.alone(fresh.Name) {
		return nil, nil
	}
	c.did("node faults", "%s is deleted", fresh.Name)
	return func(ctx context.Context) error {
		defer c.free(fresh.Name)
		return insist(ctx, func() error { return c.Create(ctx, fresh.DeepCopy()) })
	}, insist(ctx, func() error { return c.Delete(ctx, fresh.DeepCopy()) })
}
