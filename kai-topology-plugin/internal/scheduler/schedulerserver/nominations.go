package schedulerserver

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// quietNominations changes the default of one feature gate of kube-scheduler; --feature-gates still decides. With it,
// the node of each pod that waits for its gang would be written to the pod's status first, for a cluster autoscaler to
// see. Our pods wait for milliseconds, and each of these writes costs the API server as much as the binding that
// follows: gangs would start half as fast.
//
// It must be called before the flags of kube-scheduler are made, which fixes the defaults for good.
var quietNominations = sync.OnceFunc(func() {
	utilruntime.Must(utilfeature.DefaultMutableFeatureGate.OverrideDefault(
		features.NominatedNodeNameForExpectation, false))
})
