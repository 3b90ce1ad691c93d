package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const gated = `
metadata: {name: set, namespace: ns}
spec:
  replicas: 1
  template:
    cliques:
      - name: a
        spec:
          podSpec:
            schedulingGates: [{name: example.com/hold}]
            containers: [{name: main, image: "a:1", env: [{name: USER, value: x}]}]
`

func make0(t *testing.T) *corev1.Pod {
	t.Helper()
	set := fixture.Set(t, gated)
	member := layout.Standalone(set, 0)[0]
	maker := pods.Maker{Set: set, Member: member, PodClique: children.PodClique(set, member, nil),
		DefaultScheduler: "ours"}
	return maker.Make("set-0-a-xxxxx", 0)
}

func TestPodsAreBornGated(t *testing.T) {
	pod := make0(t)
	want := []corev1.PodSchedulingGate{{Name: "example.com/hold"}, {Name: grovev1alpha1.SchedulingGatePodGangPending}}
	assert.Empty(t, cmp.Diff(want, pod.Spec.SchedulingGates), "gates (-want +got)")
	pods.Ungate(pod)
	assert.Empty(t, cmp.Diff(want[:1], pod.Spec.SchedulingGates), "gates once the gang is there (-want +got)")
	assert.False(t, pods.Gated(pod), "the pod still counts as gated by the operator")
}

// TestTemplatesSayNotWhereAPodBelongs: with a template's label of a base gang, a pod would wait for a gang that does
// not exist.
func TestTemplatesSayNotWhereAPodBelongs(t *testing.T) {
	set := fixture.Set(t, gated)
	stray := map[string]string{"example.com/team": "a"}
	for _, label := range []string{
		"base-podgang", "podgang", "podcliquescalinggroup", "podcliquescalinggroup-replica-index",
		"podcliqueset-replica-index", "podclique", "podclique-pod-index",
		"pod-template-hash",
	} {
		stray["grove.io/"+label] = "stray"
	}
	set.Spec.Template.Cliques[0].Labels = stray
	member := layout.Standalone(set, 0)[0]
	podClique := children.PodClique(set, member, nil)
	pod := pods.Maker{Set: set, Member: member, PodClique: podClique}.Make("set-0-a-xxxxx", 0)
	for _, labels := range []map[string]string{podClique.Labels, pod.Labels} {
		for label, value := range labels {
			assert.NotEqual(t, "stray", value, "the template's %s is taken over", label)
		}
		assert.Equal(t, "a", labels["example.com/team"], "the template's own label is lost")
	}
}

func TestPodsFindTheirWay(t *testing.T) {
	pod := make0(t)
	got := []string{pod.GenerateName, pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.SchedulerName}
	assert.Empty(t, cmp.Diff([]string{"set-0-a-", "set-0-a-0", "set-0", "ours"}, got),
		"generateName, hostname, subdomain, scheduler (-want +got)")
	var env []string
	for _, variable := range pod.Spec.Containers[0].Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	want := []string{
		"GROVE_PCS_NAME=set", "GROVE_PCS_INDEX=0", "GROVE_PCLQ_NAME=set-0-a", "GROVE_PCLQ_POD_INDEX=0",
		"GROVE_HEADLESS_SERVICE=set-0.ns.svc.cluster.local", "USER=x",
	}
	assert.Empty(t, cmp.Diff(want, env), "environment, the operator's before the user's (-want +got)")
}
