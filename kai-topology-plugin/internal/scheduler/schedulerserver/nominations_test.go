package schedulerserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

func TestNodesOfWaitingPodsAreNotWrittenUnlessAskedFor(t *testing.T) {
	Command()
	assert.False(t, utilfeature.DefaultFeatureGate.Enabled(features.NominatedNodeNameForExpectation),
		"each pod of a gang costs a write of its status before it is bound")
}
