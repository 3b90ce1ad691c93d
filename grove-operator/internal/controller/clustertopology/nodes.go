package clustertopology

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// NodeWindow is how long the first changed node waits for others. Nodes join by the thousand, one after the other, and
// each would cause a write of the status of its topologies. Tests make it shorter, as they do passes.Window.
var NodeWindow = 5 * time.Second

// LabelsOnly strips nodes in the cache: it keeps the name and the labels, and the fields that the cache itself needs.
func LabelsOnly(object any) (any, error) {
	if node, ok := object.(*metav1.PartialObjectMetadata); ok {
		node.ObjectMeta = metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
			Labels: node.Labels}
	}
	return object, nil
}

// askNodes returns the coverage of levels by the labels of nodes; nil if topology awareness is off.
func (r *Reconciler) askNodes(ctx context.Context, levels []grovev1alpha1.TopologyLevel) (*topology.Coverage, error) {
	if !r.Configuration.Enabled {
		return nil, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	nodes := make([]topology.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = topology.Node{Name: list.Items[i].Name, Labels: list.Items[i].Labels}
	}
	taken := topology.CoverageOf(levels, nodes)
	return &taken, nil
}

// relabelled are the topologies with a coverage that a changed node changes: all of them, if it is new or gone.
func (r *Reconciler) relabelled() handler.Funcs {
	ask := func(ctx context.Context, queue queue, concerns func([]grovev1alpha1.TopologyLevel) bool) {
		for _, described := range r.cached(ctx) {
			if concerns(described.Spec.Levels) {
				queue.Add(requestFor(described.Name))
			}
		}
	}
	all := func([]grovev1alpha1.TopologyLevel) bool { return true }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, queue queue) { ask(ctx, queue, all) },
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, queue queue) { ask(ctx, queue, all) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) {
			ask(ctx, queue, func(levels []grovev1alpha1.TopologyLevel) bool {
				return topology.LabelsDiffer(levels, e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
			})
		},
	}
}
