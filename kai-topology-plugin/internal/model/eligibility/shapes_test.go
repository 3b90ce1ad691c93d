package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

func node(name string, changes ...func(*corev1.Node)) *corev1.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	made.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
	}
	for _, change := range changes {
		change(made)
	}
	return made
}

func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			Labels: map[string]string{"app": "gang", "index": name}},
	}
	made.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	for _, change := range changes {
		change(made)
	}
	return testsupport.Stored(made)[0]
}

func tainted(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "only", Effect: corev1.TaintEffectNoSchedule}}
}

func cordoned(node *corev1.Node) { node.Spec.Unschedulable = true }

func on(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

func big(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

func apart(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "gang"}},
			TopologyKey:   corev1.LabelHostname,
		}},
	}}
}

// try looks at nodes and the pods on them, with kube-scheduler's own filters.
func try(t *testing.T, nodes []*corev1.Node, standing ...*corev1.Pod) *clusterview.Trial {
	t.Helper()
	cluster, err := kubeframework.NewOffline(t.Context(), nodes, standing)
	require.NoError(t, err)
	infos, err := cluster.Nodes()
	require.NoError(t, err)
	view := clusterview.New(cluster)
	view.Follow(infos)
	trial, err := view.Begin(nil, nil)
	require.NoError(t, err)
	t.Cleanup(trial.End)
	return trial
}

func TestExclusions(t *testing.T) {
	for name, test := range map[string]struct {
		nodes    []*corev1.Node
		standing []*corev1.Pod
		pod      *corev1.Pod
		want     map[string]string
	}{
		"an empty node takes a pod": {
			nodes: []*corev1.Node{node("n")}, pod: pod("p"), want: map[string]string{"n": ""},
		},
		"a full node is not excluded: packing sees that itself": {
			nodes: []*corev1.Node{node("n")}, standing: []*corev1.Pod{pod("other", on("n"), big)}, pod: pod("p"),
			want: map[string]string{"n": ""},
		},
		"a taint is named": {
			nodes: []*corev1.Node{node("n", tainted)}, pod: pod("p"), want: map[string]string{"n": "taint gpu=only:NoSchedule"},
		},
		"a cordon excludes": {
			nodes: []*corev1.Node{node("n", cordoned)}, pod: pod("p"), want: map[string]string{"n": "cordon"},
		},
		"a node selector excludes": {
			nodes: []*corev1.Node{node("n"), node("m")}, pod: pod("p", selecting(corev1.LabelHostname, "m")),
			want: map[string]string{"n": "node selector or affinity", "m": ""},
		},
		"a taint counts on a full node too": {
			nodes: []*corev1.Node{node("n", tainted)}, standing: []*corev1.Pod{pod("other", on("n"), big)}, pod: pod("p"),
			want: map[string]string{"n": "taint gpu=only:NoSchedule"},
		},
		"a pod that must stand apart excludes where its like stands": {
			nodes:    []*corev1.Node{node("n"), node("m")},
			standing: []*corev1.Pod{pod("other", on("n"))}, pod: pod("p", apart),
			want: map[string]string{"n": "pod affinity or anti-affinity", "m": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			shape, err := try(t, test.nodes, test.standing...).Shape(t.Context(), test.pod)
			require.NoError(t, err)
			got := map[string]string{}
			for _, node := range test.nodes {
				got[node.Name] = shape.Excluded(node.Name)
			}
			assert.Empty(t, cmp.Diff(test.want, got), "excluded (-want +got)")
		})
	}
}

func TestPodsShareAShapeUnlessAFilterCouldTellThemApart(t *testing.T) {
	repelling := []*corev1.Pod{pod("other", on("n"), apart)}
	for name, test := range map[string]struct {
		standing []*corev1.Pod
		a, b     *corev1.Pod
		same     bool
	}{
		"names and labels":                 {nil, pod("a"), pod("b"), true},
		"requests":                         {nil, pod("a"), pod("b", big), false},
		"requests that add up to the same": {nil, pod("a", big), pod("b", inTwo), true},
		"requests of sidecars": {nil, pod("a", beside(corev1.ContainerRestartPolicyAlways)),
			pod("b", beside("")), false},
		"overhead":                               {nil, pod("a"), pod("b", withOverhead), false},
		"tolerations":                            {nil, pod("a", tolerating("x", 1)), pod("b", tolerating("x", 1)), true},
		"tolerations of another taint":           {nil, pod("a", tolerating("x", 1)), pod("b", tolerating("y", 1)), false},
		"tolerations for another time":           {nil, pod("a", tolerating("x", 1)), pod("b", tolerating("x", 2)), false},
		"host networks":                          {nil, pod("a"), pod("b", onHostNetwork), false},
		"systems":                                {nil, pod("a"), pod("b", onWindows), false},
		"namespaces":                             {nil, pod("a"), pod("b", in("other")), false},
		"rules":                                  {nil, pod("a", apart), pod("b"), false},
		"volumes that some nodes have":           {nil, pod("a"), pod("b", withVolume(onDisk)), false},
		"volumes of one kind of disk":            {nil, pod("a", withVolume(onDisk)), pod("b", withVolume(onDisk)), true},
		"selectors":                              {nil, pod("a"), pod("b", selecting("x", "y")), false},
		"labels by which pods repel others":      {repelling, pod("a"), pod("b", labelled("app", "other")), false},
		"labels that no rule reads":              {repelling, pod("a"), pod("b"), true},
		"labels that the pods' own rules read":   {nil, pod("a", apart), pod("b", apart, labelled("app", "other")), false},
		"labels that their own rules don't read": {nil, pod("a", apart), pod("b", apart), true},
		"pods with volumes that every node has": {nil, pod("a"),
			pod("b", withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})), true},
		"pods with a claim of their own":    {nil, pod("a", withVolume(ownClaim)), pod("b", withVolume(ownClaim)), true},
		"pods with devices from a template": {nil, pod("a", withDevices), pod("b", withDevices), true},
		"claims that no filter looks at":    {nil, pod("a"), pod("b", withVolume(sharedClaim)), true},
		"pods that share a claim": {nil, pod("a", withVolume(sharedClaim)),
			pod("b", withVolume(sharedClaim)), true},
	} {
		t.Run(name, func(t *testing.T) {
			trial := try(t, []*corev1.Node{node("n")}, test.standing...)
			a, err := trial.Shape(t.Context(), test.a)
			require.NoError(t, err)
			b, err := trial.Shape(t.Context(), test.b)
			require.NoError(t, err)
			assert.Equal(t, test.same, a.Key == b.Key, "same shape")
			alone, err := try(t, []*corev1.Node{node("n")}, test.standing...).Shape(t.Context(), test.b)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(alone.Key, b.Key), "the shape after another pod was read (-want +got)")
		})
	}
}

var (
	ownClaim    = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	sharedClaim = corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"},
	}
)

var onDisk = corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "v"}}

func inTwo(pod *corev1.Pod) {
	half := resource.MustParse("2")
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = half
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "d", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: half},
	}})
}

// beside adds an init container that asks for as much as the pod, and with a restart policy runs beside it.
func beside(policy corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{*pod.Spec.Containers[0].DeepCopy()}
		if policy != "" {
			pod.Spec.InitContainers[0].RestartPolicy = &policy
		}
	}
}

func withOverhead(pod *corev1.Pod) { pod.Spec.Overhead = pod.Spec.Containers[0].Resources.Requests }

func tolerating(key string, seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: key, TolerationSeconds: &seconds}}
	}
}

func onHostNetwork(pod *corev1.Pod) { pod.Spec.HostNetwork = true }

func onWindows(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }

func in(namespace string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Namespace = namespace }
}

func withDevices(pod *corev1.Pod) {
	template := "gpu"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
}

func withVolume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
}
