package termination

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/passes"
)

// Changed passes changes in which a set or scaling group begins or ends to record a recreation, and in which an update
// of a set begins or ends.
func Changed() predicate.Funcs {
	return passes.OnlyUpdates(func(before, after client.Object) bool {
		switch old := before.(type) {
		case *grovev1alpha1.PodCliqueSet:
			set := after.(*grovev1alpha1.PodCliqueSet)
			return Updating(old) != Updating(set) || !same(old.Status.GangTermination, set.Status.GangTermination)
		case *grovev1alpha1.PodCliqueScalingGroup:
			return !same(old.Status.GangTermination,
				after.(*grovev1alpha1.PodCliqueScalingGroup).Status.GangTermination)
		}
		return false
	})
}

func same(a, b *grovev1alpha1.GangTermination) bool {
	return apiequality.Semantic.DeepEqual(a, b)
}
