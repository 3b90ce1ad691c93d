package termination

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Changed passes changes in which a set or scaling group begins or ends to record a recreation, and in which an update
// of a set begins or ends.
func Changed() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			switch old := e.ObjectOld.(type) {
			case *grovev1alpha1.PodCliqueSet:
				set := e.ObjectNew.(*grovev1alpha1.PodCliqueSet)
				return Updating(old) != Updating(set) || !same(old.Status.GangTermination, set.Status.GangTermination)
			case *grovev1alpha1.PodCliqueScalingGroup:
				return !same(old.Status.GangTermination,
					e.ObjectNew.(*grovev1alpha1.PodCliqueScalingGroup).Status.GangTermination)
			}
			return false
		},
	}
}

func same(a, b *grovev1alpha1.GangTermination) bool {
	return apiequality.Semantic.DeepEqual(a, b)
}
