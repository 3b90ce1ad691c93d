package plugin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"
)

// outcome is all that a framework says about a pod without a gang.
type outcome struct {
	// Scores are by node, for nodes that all filters accept; Objections are for the other nodes.
	Scores     map[string]int64
	Objections map[string]string
	// Code is set if no node is looked at, and Nominated if others are to make room.
	Code      string
	Nominated string
}

// node is the best one; of equals the first by name, where kube-scheduler takes any.
func (o outcome) node() string {
	best := ""
	for name, score := range o.Scores {
		if best == "" || cmp.Or(cmp.Compare(score, o.Scores[best]), cmp.Compare(best, name)) > 0 {
			best = name
		}
	}
	return best
}

func (b *bench) judge(t *testing.T, pod *corev1.Pod) outcome {
	t.Helper()
	judged := outcome{Scores: map[string]int64{}, Objections: map[string]string{}}
	for _, plugin := range b.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(t.Context(), pod); !status.IsSuccess() {
			judged.Code = status.Message()
			return judged
		}
	}
	state := framework.NewCycleState()
	narrowed, status, _ := b.RunPreFilterPlugins(t.Context(), state, pod)
	if !status.IsSuccess() {
		judged.Code = status.Message()
		return judged
	}
	all, err := b.SnapshotSharedLister().NodeInfos().List()
	require.NoError(t, err)
	var feasible []fwk.NodeInfo
	statuses := framework.NewDefaultNodeToStatus()
	for _, node := range all {
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(node.Node().Name) {
			continue
		}
		if status := b.RunFilterPluginsWithNominatedPods(t.Context(), state, pod, node); !status.IsSuccess() {
			statuses.Set(node.Node().Name, status)
			judged.Objections[node.Node().Name] = status.Plugin() + ": " + status.Message()
			continue
		}
		feasible = append(feasible, node)
	}
	if len(feasible) == 0 {
		if result, _ := b.RunPostFilterPlugins(t.Context(), state, pod, statuses); result != nil &&
			result.NominatingInfo != nil {
			judged.Nominated = result.NominatedNodeName
		}
		return judged
	}
	if status := b.RunPreScorePlugins(t.Context(), state, pod, feasible); !status.IsSuccess() {
		t.Fatal(status)
	}
	scores, status := b.RunScorePlugins(t.Context(), state, pod, feasible)
	require.True(t, status.IsSuccess(), "%v", status)
	for _, score := range scores {
		judged.Scores[score.Name] = score.TotalScore
	}
	status = b.RunReservePluginsReserve(t.Context(), state, pod, judged.node())
	assert.True(t, status.IsSuccess(), "pod %s cannot be put on its node: %v", pod.Name, status)
	_, status = b.RunPermitPlugins(t.Context(), state, pod, judged.node())
	assert.True(t, status.IsSuccess(), "pod %s is kept from being bound: %v", pod.Name, status)
	return judged
}

// plainPod is a pod without a gang, of any kind that schedulers tell apart.
func plainPod(random *rand.Rand, number int) *corev1.Pod {
	pod := newPod("", fmt.Sprintf("plain-%03d", number))
	app := fmt.Sprintf("app-%d", random.IntN(3))
	pod.Labels = map[string]string{"app": app}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(
		int64(100+100*random.IntN(4)), resource.DecimalSI)
	pod.Spec.Priority = ptr.To(int32(random.IntN(3) * 10))
	pod.Status.StartTime = &metav1.Time{Time: time.Unix(int64(number), 0)}
	self := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	switch random.IntN(7) {
	case 0:
		pod.Spec.NodeSelector = map[string]string{"rack": fmt.Sprintf("r%d", random.IntN(3))}
	case 1:
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{LabelSelector: self, TopologyKey: corev1.LabelHostname},
			},
		}}
	case 2:
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: self, TopologyKey: "rack"}},
		}}
	case 3:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: self,
		}}
	case 4:
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	case 5:
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{
			{HostPort: 8080, ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
		}
	}
	return pod
}

// The same pods come to a kube-scheduler with our plugin and to one without. What each says about every node, the best
// node and the victims are the same, while gangs stand on the nodes and others wait.
func TestPodsWithoutAGangAreScheduledAsByKubeScheduler(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		random := rand.New(rand.NewPCG(seed, 0))
		cluster := newNodes(6)
		for i, node := range cluster {
			node.Labels = map[string]string{"rack": fmt.Sprintf("r%d", i%3), corev1.LabelHostname: node.Name}
			if i == 5 {
				node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
			}
		}
		member, waiting := newPod("stands", "stands-0"), newPod("waits", "waits-0")
		member.Spec.NodeName = "n0"
		member.Spec.Priority = ptr.To[int32](100)
		member.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("300m")
		there := []*corev1.Pod{member, waiting}
		nominated := 0
		for number := range 30 {
			pod := plainPod(random, number)
			objects := slices.Concat(there, []*corev1.Pod{pod})
			with := benchOf(t, true, cluster, objects, podGroup("stands", 1), podGroup("waits", 2)).judge(t, pod)
			without := benchOf(t, false, cluster, objects).judge(t, pod)
			require.Empty(t, gocmp.Diff(without, with), "seed %d, pod %s (-without our plugin +with it)", seed, pod.Name)
			if with.Nominated != "" {
				nominated++
			}
			if node := with.node(); node != "" {
				pod.Spec.NodeName = node
				there = append(there, pod)
			}
		}
		if len(there) < 12 || nominated == 0 {
			t.Errorf("seed %d tells little: %d pods were placed, for %d others were to make room", seed, len(there), nominated)
		}
	}
}

func TestPodsWithoutAGangAreQueuedAsByKubeScheduler(t *testing.T) {
	ours, theirs := benchOf(t, true, newNodes(1), nil), benchOf(t, false, newNodes(1), nil)
	random := rand.New(rand.NewPCG(7, 0))
	var queued []fwk.QueuedPodInfo
	for number := range 40 {
		info, err := framework.NewPodInfo(plainPod(random, number))
		require.NoError(t, err)
		queued = append(queued, &framework.QueuedPodInfo{
			PodInfo: info, Timestamp: time.Unix(int64(random.IntN(1000)*1000+number), 0),
		})
	}
	for _, a := range queued {
		for _, b := range queued {
			if ours.QueueSortFunc()(a, b) != theirs.QueueSortFunc()(a, b) && a != b {
				t.Fatalf("%s before %s: %v", a.GetPodInfo().GetPod().Name, b.GetPodInfo().GetPod().Name, ours.QueueSortFunc()(a, b))
			}
		}
	}
}
