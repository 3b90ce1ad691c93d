package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const ordered = `
metadata: {name: set, namespace: ns}
spec:
  replicas: 1
  template:
    cliqueStartupType: CliqueStartupTypeInOrder
    cliques:
      - {name: a, spec: {replicas: 3, minAvailable: 2}}
      - name: b
        spec:
          podSpec:
            automountServiceAccountToken: false
            initContainers: [{name: weights, image: "w:1"}]
            containers: [{name: main, image: "b:1", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}]
            volumes: [{name: theirs}]
`

// orderedPod makes a pod of clique a or b with its init container, for an operator with this configuration.
func orderedPod(t *testing.T, clique int, order groveconfigv1alpha1.StartupOrderConfiguration) *corev1.Pod {
	t.Helper()
	set := fixture.Set(t, ordered)
	config := &groveconfigv1alpha1.OperatorConfiguration{StartupOrder: order}
	configuration.SetDefaults(config)
	member := layout.Standalone(set, 0)[clique]
	return pods.Maker{Set: set, Member: member, PodClique: children.PodClique(set, member, nil),
		Startup: config.StartupOrder}.Make("p", 0)
}

func TestPodsThatWaitDoSoFirst(t *testing.T) {
	pod := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:1"})
	require.Len(t, pod.Spec.InitContainers, 2, "init containers")
	require.Equal(t, "weights", pod.Spec.InitContainers[1].Name, "init containers")
	ours := pod.Spec.InitContainers[0]
	got := []any{ours.Name, ours.Image, ours.Args, ours.VolumeMounts[0].Name, pod.Spec.Volumes[0].Name,
		pod.Spec.Volumes[1].Name, pod.Spec.ServiceAccountName}
	want := []any{layout.StartupContainer, "i:1", []string{"--after=set-0-a:2"}, layout.StartupVolume, "theirs",
		layout.StartupVolume, "set"}
	assert.Empty(t, cmp.Diff(want, got), "name, image, arguments, mount, volumes, account (-want +got)")
	for _, others := range append(pod.Spec.InitContainers[1:], pod.Spec.Containers...) {
		assert.Empty(t, others.VolumeMounts, "container %s sees the token too", others.Name)
	}
}

// TestGuaranteedPodsStayGuaranteed: a pod has that class only if every container, init containers too, has limits of
// CPU and memory, and requests that equal them.
func TestGuaranteedPodsStayGuaranteed(t *testing.T) {
	resources := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{}).Spec.InitContainers[0].Resources
	assert.Empty(t, cmp.Diff(resources.Limits, resources.Requests),
		"limits %v, requests differ (-want +got)", resources.Limits)
	assert.Len(t, resources.Limits, 2, "limits %v, requests differ (-want +got)", resources.Limits)
}

func TestTheFirstPodsDoNotWait(t *testing.T) {
	pod := orderedPod(t, 0, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:1"})
	assert.Nil(t, pod.Spec.InitContainers, "pod %+v", pod.Spec)
	assert.Nil(t, pod.Spec.Volumes, "pod %+v", pod.Spec)
	assert.Empty(t, pod.Spec.ServiceAccountName, "pod %+v", pod.Spec)
}

// TestAnotherImageRollsNothing: the operator's own additions to pods do not make pods outdated.
func TestAnotherImageRollsNothing(t *testing.T) {
	before := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:1"})
	after := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:2"})
	require.NotEqual(t, after.Spec.InitContainers[0].Image, before.Spec.InitContainers[0].Image,
		"the image is the same; the test shows nothing")
	assert.Empty(t, cmp.Diff(before.Labels, after.Labels), "labels, the template's hash among them (-before +after)")
}
