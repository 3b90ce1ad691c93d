package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
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
	if len(pod.Spec.InitContainers) != 2 || pod.Spec.InitContainers[1].Name != "weights" {
		t.Fatalf("init containers %v, want ours and then the user's", pod.Spec.InitContainers)
	}
	ours := pod.Spec.InitContainers[0]
	got := []any{ours.Name, ours.Image, ours.Args, ours.VolumeMounts[0].Name, pod.Spec.Volumes[0].Name,
		pod.Spec.Volumes[1].Name, pod.Spec.ServiceAccountName}
	want := []any{layout.StartupContainer, "i:1", []string{"--after=set-0-a:2"}, layout.StartupVolume, "theirs",
		layout.StartupVolume, "set"}
	assert.Empty(t, cmp.Diff(want, got), "name, image, arguments, mount, volumes, account (-want +got)")
	for _, others := range append(pod.Spec.InitContainers[1:], pod.Spec.Containers...) {
		if len(others.VolumeMounts) > 0 {
			t.Errorf("container %s sees the token too: %v", others.Name, others.VolumeMounts)
		}
	}
}

// TestGuaranteedPodsStayGuaranteed: a pod has that class only if every container, init containers too, has limits of
// CPU and memory, and requests that equal them.
func TestGuaranteedPodsStayGuaranteed(t *testing.T) {
	resources := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{}).Spec.InitContainers[0].Resources
	if diff := cmp.Diff(resources.Limits, resources.Requests); diff != "" || len(resources.Limits) != 2 {
		t.Errorf("limits %v, requests differ (-want +got):\n%s", resources.Limits, diff)
	}
}

func TestTheFirstPodsDoNotWait(t *testing.T) {
	pod := orderedPod(t, 0, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:1"})
	if pod.Spec.InitContainers != nil || pod.Spec.Volumes != nil || pod.Spec.ServiceAccountName != "" {
		t.Errorf("pod %+v, want it untouched", pod.Spec)
	}
}

// TestAnotherImageRollsNothing: the operator's own additions to pods do not make pods outdated.
func TestAnotherImageRollsNothing(t *testing.T) {
	before := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:1"})
	after := orderedPod(t, 1, groveconfigv1alpha1.StartupOrderConfiguration{Image: "i:2"})
	if before.Spec.InitContainers[0].Image == after.Spec.InitContainers[0].Image {
		t.Fatal("the image is the same; the test shows nothing")
	}
	assert.Empty(t, cmp.Diff(before.Labels, after.Labels), "labels, the template's hash among them (-before +after)")
}
