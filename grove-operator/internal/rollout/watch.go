package rollout

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/passes"
)

// TurnChanged passes changes of a PodCliqueSet in which the turn of a replica begins or ends, or copies are added
// during it.
func TurnChanged() predicate.Funcs {
	return passes.OnlyUpdates(func(before, after client.Object) bool {
		return !equality.Semantic.DeepEqual(turnsOf(before), turnsOf(after))
	})
}

func turnsOf(set client.Object) []grovev1alpha1.PodCliqueSetReplicaUpdate {
	return turnsIn(set.(*grovev1alpha1.PodCliqueSet).Status.UpdateProgress)
}

// inTurn are the replicas of a PodCliqueSet that have a turn.
func inTurn(set client.Object) sets.Set[int32] {
	replicas := sets.New[int32]()
	for _, turn := range turnsOf(set) {
		replicas.Insert(turn.ReplicaIndex)
	}
	return replicas
}

// TurnHandler enqueues the given objects of a replica whenever its turn begins or ends.
func TurnHandler(
	inReplica func(ctx context.Context, set client.Object, replica int32) []reconcile.Request,
) handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for replica := range inTurn(e.ObjectOld).SymmetricDifference(inTurn(e.ObjectNew)) {
				for _, request := range inReplica(ctx, e.ObjectNew, replica) {
					queue.Add(request)
				}
			}
		},
	}
}
