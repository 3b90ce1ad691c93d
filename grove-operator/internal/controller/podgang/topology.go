package podgang

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/topology"
)

// settleTopology resolves the topology for the gangs of the replica. If a gang has to change its topology, or pods
// have to be deleted, it reads the pods past the cache. It deletes pods that were made for another topology and have
// no node, each as it was read: a pod that was bound since causes a conflict, after which everything is decided
// again. The gangs are not written before all of these pods are gone.
func (r *Reconciler) settleTopology(ctx context.Context, scope *scope) error {
	named := topology.NameFor(scope.set)
	decision := topology.DecideChange(named, scope.allPods(), scope.gangs)
	if !topology.Settled(named, decision, scope.gangs) {
		live, err := r.livePods(ctx, scope)
		if err != nil {
			return err
		}
		decision = topology.DecideChange(named, live, scope.gangs)
		if err := r.deleteUnbound(ctx, decision.Outdated); err != nil {
			return err
		}
	}
	scope.keepMadeFor(decision.Topology)
	var err error
	scope.topology, err = lookup.ResolveAs(ctx, r.Client, r.Writer.Live, scope.set, decision.Topology)
	return err
}

func (s *scope) allPods() []*corev1.Pod {
	var all []*corev1.Pod
	for _, ofClique := range s.pods {
		all = append(all, ofClique...)
	}
	return all
}

// keepMadeFor drops the pods that were made for another topology: no gang lists them.
func (s *scope) keepMadeFor(inForce string) {
	for podClique, ofClique := range s.pods {
		s.pods[podClique] = slices.DeleteFunc(ofClique, func(pod *corev1.Pod) bool {
			made := topology.MadeFor(pod, s.gangs[pod.Labels[grovev1alpha1.LabelPodGang]])
			return inForce != "" && made != "" && made != inForce
		})
	}
}

// livePods reads the replica's pods past the cache.
func (r *Reconciler) livePods(ctx context.Context, scope *scope) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Writer.Live.List(ctx, &list, lookup.Live(scope.set)...); err != nil {
		return nil, fmt.Errorf("listing pods before gangs turn to another topology: %w", err)
	}
	var ofReplica []*corev1.Pod
	for i := range list.Items {
		// A pod that is overdue has lost this label. It is leaving, and has no part in the decision.
		if replica, ok := layout.ReplicaOf(&list.Items[i]); ok && replica == scope.replica {
			ofReplica = append(ofReplica, &list.Items[i])
		}
	}
	return ofReplica, nil
}

// deleteUnbound deletes pods that had no node when they were read. A pod that has changed since causes a conflict.
func (r *Reconciler) deleteUnbound(ctx context.Context, outdated []*corev1.Pod) error {
	return passes.SlowStart(len(outdated), func(i int) error {
		pod := outdated[i]
		err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
		if err = client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
		}
		return nil
	})
}
