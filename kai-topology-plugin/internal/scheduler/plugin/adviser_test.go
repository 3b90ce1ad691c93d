package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

func TestAdviceIsForOneRefusalAndIsForgottenWithItsGang(t *testing.T) {
	pods := []*corev1.Pod{newPod("wide", "a"), newPod("wide", "b"), newPod("wide", "c")}
	wide := podGroup("wide", 3)
	nodes := newNodes(1)
	bench := newBench(t, nodes, pods, wide)
	_, err := bench.ClientSet().CoreV1().Nodes().Create(t.Context(), nodes[0], metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the node is known", func() bool {
		_, err := bench.plugin.lister.Nodes.Get(nodes[0].Name)
		return err == nil
	})
	node, _ := bench.schedule(t, pods[0])
	require.Empty(t, node, "the gang is sent")
	advice, key := bench.plugin.adviser, gang.KeyOfPodGroup(wide)
	refusal := bench.plugin.gangs.Status(wide).Last.Message
	assert.False(t, advice.About(key, refusal).Known, "it is known before it was looked for")
	for _, asked := range []gang.Key{key, {Namespace: "default", Name: "gone"}} {
		require.NoError(t, advice.advise(t.Context(), asked))
	}
	if known := advice.About(key, refusal); known.Nodes == nil || known.Nodes.Count != 2 {
		t.Errorf("advice is %+v", known)
	}
	assert.False(t, advice.About(key, "another").Known, "advice for one refusal is given for another")
	advice.Forget(key)
	assert.Empty(t, advice.known)
}
