package overtaking

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// asks is a pod that asks for amounts of resources.
func asks(requests map[string]string) *corev1.Pod {
	list := corev1.ResourceList{}
	for name, amount := range requests {
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}
	return pod
}

func short(resources ...string) packing.Explanation {
	var all []packing.Shortage
	for _, name := range resources {
		all = append(all, packing.Shortage{Resource: name})
	}
	return packing.Explanation{Short: all}
}

func TestWhatAGangWaitsFor(t *testing.T) {
	all := []string{"cpu", gpus}
	gpu, cpu := asks(map[string]string{gpus: "1", "memory": "0"}), asks(map[string]string{"cpu": "1", gpus: "2"})
	for name, test := range map[string]struct {
		why    []packing.Explanation
		scarce []string
	}{
		"what its pods ask for": {scarce: all},
		"what the answer names, each once and sorted": {
			why: []packing.Explanation{short(gpus), short("memory", gpus)}, scarce: []string{"memory", gpus},
		},
		"an answer that names nothing": {why: []packing.Explanation{{}}, scarce: all},
	} {
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "g", CreationTimestamp: metav1.Unix(7, 0),
		}}
		assembled := &gang.Gang{PodGroup: podGroup, Pending: []*corev1.Pod{gpu, gpu, cpu}}
		got := ClaimOf(assembled, &solve.Answer{Explanations: test.why})
		want := gangstate.Claim{
			Rank:   gang.Rank{Since: time.Unix(7, 0), Gang: gang.Key{Namespace: "ns", Name: "g"}},
			Scarce: test.scarce,
		}
		assert.Empty(t, cmp.Diff(want, got), "%s (-want +got)", name)
	}
}

func TestWhatPodsAskFor(t *testing.T) {
	gpu, cpu := asks(map[string]string{gpus: "1"}), asks(map[string]string{"cpu": "1"})
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"no pods nothing":   {nil, ""},
		"every pod a place": {[]*corev1.Pod{asks(nil)}, "pods"},
		"what is not zero": {
			[]*corev1.Pod{asks(map[string]string{"memory": "0"}), gpu}, gpus + " pods",
		},
		"pods that are alike and one that is not": {[]*corev1.Pod{gpu, gpu, cpu, gpu}, "cpu " + gpus + " pods"},
	} {
		got := strings.Join(slices.Sorted(maps.Keys(Asks(test.pods))), " ")
		assert.Equal(t, test.want, got, "%s: asked", name)
	}
}

func TestWhatAGangTakes(t *testing.T) {
	assembled := &gang.Gang{
		PodGroup: &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}},
		Pending:  []*corev1.Pod{asks(map[string]string{gpus: "1"})},
	}
	got := TakingOf(assembled, &solve.Answer{Nodes: map[string]string{"p0": "b"}})
	assert.Equal(t, "g", got.Rank.Gang.Name, "%v takes %v", got.Rank, got.Asks)
	assert.True(t, got.Asks.Has(gpus), "%v takes %v", got.Rank, got.Asks)
	if got := TakingOf(assembled, &solve.Answer{}); got.Rank.Gang.Name != "g" || len(got.Asks) > 0 {
		t.Errorf("%v takes %v without a node", got.Rank, got.Asks)
	}
}
