package plugin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/kueue"
)

func inGroup(name, group string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.Labels = name, "team", map[string]string{kueue.LabelGroup: group}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.GateAdmission}}
	return pod
}

func TestAWorkloadFitsIfAllItsPodsGetNodes(t *testing.T) {
	pods := []*corev1.Pod{inGroup("a", "g"), inGroup("b", "g")}
	for name, c := range map[string]struct {
		answer  solve.Answer
		state   string
		message string
	}{
		"both have a node": {solve.Answer{Nodes: map[string]string{"a": "n1", "b": "n2"}}, kueue.CheckReady,
			"the scheduler has room for it"},
		"one has none": {solve.Answer{Nodes: map[string]string{"a": "n1"}, Message: "short of 1 gpu"},
			kueue.CheckRetry, "short of 1 gpu"},
		"no reason is given": {solve.Answer{}, kueue.CheckRetry, "the pods have no room"},
		"a sentence is longer than Kueue takes": {solve.Answer{Message: strings.Repeat("gpu ", 600)}, kueue.CheckRetry,
			strings.Repeat("gpu ", 255) + "…"},
	} {
		state, message := fits(&c.answer, pods)
		assert.Equal(t, c.state, state, name)
		assert.Equal(t, c.message, message, name)
	}
}

func TestPodsOfAWorkloadAreTakenForAdmitted(t *testing.T) {
	cluster := inventory.New()
	waiting, other, leaving := inGroup("a", "g"), inGroup("b", "h"), inGroup("c", "g")
	leaving.DeletionTimestamp = &metav1.Time{}
	cluster.Pods = []*corev1.Pod{waiting, other, leaving}
	workload := &kueue.Workload{}
	workload.Name, workload.Namespace = "g", "team"
	pods := admitted(cluster, workload)
	if len(pods) != 1 || pods[0].Name != "a" || cluster.Pods[0] != pods[0] || len(pods[0].Spec.SchedulingGates) > 0 {
		t.Errorf("pod a without gates is admitted, and no other: %v", pods)
	}
	assert.NotEmpty(t, waiting.Spec.SchedulingGates, "the pod of the cache was changed")
}
