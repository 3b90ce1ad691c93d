package eligibility

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Pods come, are asked about again, and are copied with other requests under the same UID and version, more of them than
// are remembered: each has the kind that it would have if nothing were.
func TestRememberedKindsAreThoseOfPodsThatAreRead(t *testing.T) {
	remembering := kinds{resources: kubeframework.NewResources(nil)}
	random := rand.New(rand.NewPCG(1, 2))
	objects := map[int]*corev1.Pod{}
	drawn := func() *corev1.Pod {
		number := random.IntN(3 * maxKnownPods)
		if objects[number] == nil || random.IntN(4) == 0 {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: fmt.Sprint("p", number), UID: types.UID(fmt.Sprint(number)), ResourceVersion: "1",
			}}
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(random.Int64N(9), resource.DecimalSI)},
			}}}
			objects[number] = pod
		}
		return objects[number]
	}
	byKey := map[string]*kind{}
	for range 4 * maxKnownPods {
		pod := drawn()
		got, err := remembering.of(pod)
		require.NoError(t, err)
		want, err := remembering.read(pod)
		require.NoError(t, err)
		require.Equal(t, want.key, got.key, "pod %s", pod.Name)
		byKey[got.key] = got
	}
	for _, half := range []pods{remembering.recent, remembering.older} {
		assert.LessOrEqual(t, len(half.known), maxKnownPods)
		assert.LessOrEqual(t, len(half.kinds), len(byKey))
	}
}

func TestTwinsDifferInNothingThatFiltersRead(t *testing.T) {
	pod := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{"app": "x", "index": "0"}}}
		for _, change := range changes {
			change(made)
		}
		return made
	}
	apart := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
			}},
		}}
	}
	spread := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, MatchLabelKeys: []string{"hash"},
		}}
	}
	labelled := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels[key] = value }
	}
	tolerating := func(seconds int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k", TolerationSeconds: ptr.To(seconds)}}
		}
	}
	for name, c := range map[string]struct {
		a, b  *corev1.Pod
		twins bool
	}{
		"the same":                                        {pod(), pod(), true},
		"by another number":                               {pod(), pod(labelled("index", "1")), true},
		"by a label that no rule reads":                   {pod(apart), pod(apart, labelled("index", "1")), true},
		"by one that a rule reads":                        {pod(apart), pod(apart, labelled("app", "y")), false},
		"by one that only the second has":                 {pod(spread), pod(spread, labelled("hash", "1")), false},
		"by one that only the first has":                  {pod(spread, labelled("hash", "")), pod(spread), false},
		"by a rule":                                       {pod(), pod(apart), false},
		"by a spread":                                     {pod(), pod(spread), false},
		"by how long they tolerate":                       {pod(tolerating(1)), pod(tolerating(2)), false},
		"by nothing, with tolerations in their own words": {pod(tolerating(1)), pod(tolerating(1)), true},
		"by a namespace":                                  {pod(), pod(func(p *corev1.Pod) { p.Namespace = "other" }), false},
		"by a selector":                                   {pod(), pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), false},
		"by the network":                                  {pod(), pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }), false},
		"by its users":                                    {pod(), pod(func(p *corev1.Pod) { p.Spec.HostUsers = ptr.To(false) }), false},
		"by its system":                                   {pod(), pod(func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }), false},
		"by a volume of its own kind": {pod(), pod(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}}}
		}), false},
		"by a volume that all nodes have": {pod(), pod(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}), true},
	} {
		assert.Equal(t, c.twins, twins(c.a, c.b), "pods that differ %s are twins", name)
	}
}
