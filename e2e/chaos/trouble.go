package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// troubleNode changes a node for some time, and then restores it.
func (r *Run) troubleNode(ctx context.Context) error {
	number := r.choose(r.Racks * nodesPerRack)
	var err error
	select {
	case hit := <-r.hit:
		if number, err = strconv.Atoi(strings.TrimPrefix(hit, r.Name+"-")); err != nil {
			return err
		}
	default:
	}
	node := r.node(number)
	if _, already := r.troubled.LoadOrStore(node.Name, true); already {
		return nil
	}
	defer r.troubled.Delete(node.Name)
	switch r.choose(4) {
	case 0:
		r.count("nodes deleted")
		err = r.withoutNode(ctx, node)
	case 1:
		r.count("nodes in another rack")
		// A rack of its own: pods that are bound to the node meanwhile share the rack with no others.
		err = r.changed(ctx, node, func(n *corev1.Node) { n.Labels[rackLabel] = "rack-of-" + n.Name },
			func(n *corev1.Node) { n.Labels[rackLabel] = node.Labels[rackLabel] })
	case 2:
		r.count("nodes tainted")
		err = r.changed(ctx, node, func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: ownLabel, Effect: corev1.TaintEffectNoSchedule})
		}, func(n *corev1.Node) { n.Spec.Taints = nil })
	default:
		r.count("nodes cordoned")
		err = r.changed(ctx, node, func(n *corev1.Node) { n.Spec.Unschedulable = true }, func(n *corev1.Node) {
			n.Spec.Unschedulable, n.Spec.Taints = false, nil
		})
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	return nil
}

// wait waits between 0.2 and 2 seconds.
func (r *Run) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(200+r.choose(1800)) * time.Millisecond):
	}
}

func (r *Run) changed(ctx context.Context, node *corev1.Node, change, back func(*corev1.Node)) error {
	for _, do := range []func(*corev1.Node){change, back} {
		read := &corev1.Node{}
		if err := r.Get(ctx, client.ObjectKeyFromObject(node), read); err != nil {
			return err
		}
		before := read.DeepCopy()
		do(read)
		if err := r.Patch(ctx, read, client.MergeFrom(before)); err != nil {
			return err
		}
		r.wait(ctx)
	}
	return nil
}

func (r *Run) withoutNode(ctx context.Context, node *corev1.Node) error {
	if err := r.Delete(ctx, node.DeepCopy()); err != nil {
		return err
	}
	r.wait(ctx)
	// A node that comes back with pods on it would be the same node for the scheduler.
	var pods corev1.PodList
	on := client.MatchingFields{"spec.nodeName": node.Name}
	if err := r.List(ctx, &pods, client.InNamespace(r.Name), on); err != nil {
		return err
	}
	for i := range pods.Items {
		if err := r.kill(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return r.Create(ctx, node)
}

// troubleTopology deletes the Topology for a moment. Its levels cannot be changed in place.
func (r *Run) troubleTopology(ctx context.Context) error {
	r.count("Topologies deleted")
	if err := r.Delete(ctx, r.topology()); err != nil {
		return fmt.Errorf("deleting the Topology: %w", err)
	}
	r.wait(ctx)
	if err := r.Create(ctx, r.topology()); err != nil {
		return fmt.Errorf("creating the Topology: %w", err)
	}
	return nil
}

// editPodGroup asks for less than before, so that a placement under the old spec is right under the new one: a lower
// minimum or a broader level. Or it changes a field without effect.
func (r *Run) editPodGroup(ctx context.Context) error {
	g := r.some()
	if g == nil {
		return nil
	}
	podGroup := &scheduling.PodGroup{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: r.Name, Name: g.name}, podGroup); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := podGroup.DeepCopy()
	spec := &podGroup.Spec
	switch r.choose(3) {
	case 0:
		if spec.MinMember != nil && *spec.MinMember > 1 {
			*spec.MinMember--
		}
	case 1:
		if spec.TopologyConstraint != nil && spec.TopologyConstraint.RequiredTopologyLevel == rackLabel {
			spec.TopologyConstraint.RequiredTopologyLevel = blockLabel
		}
	default:
		podGroup.Annotations = map[string]string{"chaos.packtree.dev/touched": time.Now().Format(time.RFC3339Nano)}
	}
	r.count("PodGroups edited")
	return client.IgnoreNotFound(r.Patch(ctx, podGroup, client.MergeFrom(before)))
}

func (r *Run) deletePod(ctx context.Context) error {
	g := r.some()
	if g == nil {
		return nil
	}
	byGang, err := r.byGang(ctx)
	pods := byGang[g.name]
	if err != nil || len(pods) == 0 {
		return err
	}
	r.count("pods deleted")
	return r.kill(ctx, pods[r.choose(len(pods))])
}

// finishGang ends a placed gang, so that there is room for others.
func (r *Run) finishGang(ctx context.Context) error {
	g := r.some()
	if g == nil || r.chance(0.5) {
		return nil
	}
	byGang, err := r.byGang(ctx)
	if err != nil {
		return err
	}
	pods := byGang[g.name]
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			return nil
		}
	}
	g.mu.Lock()
	done := g.finished
	g.finished = true
	g.mu.Unlock()
	if done {
		return nil
	}
	r.count("gangs finished")
	for _, pod := range pods {
		if err := r.kill(ctx, pod); err != nil {
			return err
		}
	}
	podGroup := &scheduling.PodGroup{}
	podGroup.Namespace, podGroup.Name = r.Name, g.name
	return client.IgnoreNotFound(r.Delete(ctx, podGroup))
}
