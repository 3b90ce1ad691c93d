package kubeframework_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// amounts are resources by name and amount, one after the other.
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// requesting is a pod with a container for each list of requests.
func requesting(name string, containers ...corev1.ResourceList) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	for _, requests := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Resources: corev1.ResourceRequirements{Requests: requests},
		})
	}
	return pod
}

func TestWhatAPodRequests(t *testing.T) {
	with := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := requesting("p", amounts("cpu", "1", "memory", "1Gi"))
		change(pod)
		return pod
	}
	const gi = 1 << 30
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want packing.Resources
	}{
		"nothing but a place": {requesting("p"), packing.Resources{"cpu": 0, "memory": 0, "ephemeral-storage": 0, "pods": 1}},
		"what its containers do, CPU in thousandths": {
			requesting("p", amounts("cpu", "1", string(gpu), "2"), amounts("cpu", "500m", "memory", "1Gi")),
			packing.Resources{"cpu": 1500, "memory": gi, "ephemeral-storage": 0, "pods": 1, "nvidia.com/gpu": 2},
		},
		"an init container that needs more": {
			with(func(pod *corev1.Pod) {
				pod.Spec.InitContainers = requesting("", amounts("memory", "3Gi")).Spec.Containers
			}), packing.Resources{"cpu": 1000, "memory": 3 * gi, "ephemeral-storage": 0, "pods": 1},
		},
		"what its runtime takes besides": {
			with(func(pod *corev1.Pod) { pod.Spec.Overhead = amounts("cpu", "250m", "ephemeral-storage", "1Gi") }),
			packing.Resources{"cpu": 1250, "memory": gi, "ephemeral-storage": gi, "pods": 1},
		},
		"more than can be counted": {
			requesting("p", amounts(string(gpu), "9223372036854775807"), amounts(string(gpu), "1")),
			packing.Resources{"cpu": 0, "memory": 0, "ephemeral-storage": 0, "pods": 1, "nvidia.com/gpu": math.MaxInt64},
		},
		"more of a processor than can be counted in thousandths": {
			requesting("p", amounts("cpu", "9223372036854776")),
			packing.Resources{"cpu": math.MaxInt64, "memory": 0, "ephemeral-storage": 0, "pods": 1},
		},
		"as much as can be counted": {
			requesting("p", amounts(string(gpu), "1125899906842624", "cpu", "1")),
			packing.Resources{"cpu": 1000, "memory": 0, "ephemeral-storage": 0, "pods": 1, "nvidia.com/gpu": 1 << 50},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kubeframework.Requests(c.pod)
			assert.Empty(t, cmp.Diff(c.want, got))
			assert.NoError(t, err)
		})
	}
}

func TestWhatIsTakenOfANodeReplacesWhatWas(t *testing.T) {
	node := kubeframework.BareNode(&corev1.Node{}, requesting("a", amounts("cpu", "1", string(gpu), "1")))
	want := packing.Resources{"cpu": 1000, "memory": 0, "ephemeral-storage": 0, "pods": 1, string(gpu): 1}
	assert.Empty(t, cmp.Diff(want, kubeframework.UsedIn(packing.Resources{"left over": 7}, node)), "(-want +got)")
}

func TestPodsAreAlikeIfEachContainerRequestsTheSame(t *testing.T) {
	one, other := amounts("cpu", "1", string(gpu), "1"), amounts("cpu", "1000m", string(gpu), "1")
	with := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := requesting("b", other)
		change(pod)
		return pod
	}
	a := requesting("a", one)
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		alike bool
	}{
		"itself":                        {a, true},
		"one that says it otherwise":    {requesting("b", other), true},
		"one that asks for more":        {requesting("b", amounts("cpu", "2", string(gpu), "1")), false},
		"one that asks for less":        {requesting("b", amounts("cpu", "1")), false},
		"one that has another one":      {requesting("b", one, amounts("cpu", "0")), false},
		"one with something before":     {with(func(p *corev1.Pod) { p.Spec.InitContainers = a.Spec.Containers }), false},
		"one that takes more around it": {with(func(p *corev1.Pod) { p.Spec.Overhead = amounts("cpu", "1m") }), false},
		"one that is asked for as a whole": {with(func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "4")}
		}), false},
		"one that runs, and was given something else": {with(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c"}}
		}), false},
		"one whose container is started again": {with(func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}), false},
	} {
		if got, back := kubeframework.Alike(a, c.pod), kubeframework.Alike(c.pod, a); got != c.alike || back != c.alike {
			t.Errorf("%s: alike is %t, and the other way round %t", name, got, back)
		}
	}
}
