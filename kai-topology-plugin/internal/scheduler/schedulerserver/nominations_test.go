package schedulerserver

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

func TestNodesOfWaitingPodsAreNotWrittenUnlessAskedFor(t *testing.T) {
	Command()
	if utilfeature.DefaultFeatureGate.Enabled(features.NominatedNodeNameForExpectation) {
		t.Error("each pod of a gang costs a write of its status before it is bound")
	}
}
