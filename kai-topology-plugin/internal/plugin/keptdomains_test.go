package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func olderBy(seconds int64, podGroup *scheduling.PodGroup) *scheduling.PodGroup {
	podGroup.CreationTimestamp = metav1.NewTime(time.Unix(1000-seconds, 0))
	return podGroup
}

// asking is a pod of a gang that asks for an amount of one resource.
func asking(gang, name string, what corev1.ResourceName, amount string) *corev1.Pod {
	pod := newPod(gang, name)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{what: resource.MustParse(amount)}
	return pod
}

// keptFor is a bench on which each of the given pods is a gang that waits and has been passed as often as may be, the
// first one the oldest, and none of which the free room is enough for: half of what a node has is taken.
func keptFor(t *testing.T, young []*corev1.Pod, waiting ...*corev1.Pod) *bench {
	t.Helper()
	objects := []kruntime.Object{olderBy(0, podGroup("young", 1))}
	pods := slices.Clone(young)
	for i, pod := range waiting {
		objects = append(objects, olderBy(int64(100-i), podGroup(pod.Annotations[scheduling.AnnotationPodGroupName], 1)))
		pods = append(pods, pod)
	}
	taken := newPod("", "taken")
	taken.Spec.NodeName = "n0"
	taken.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
	}
	bench := newBench(t, nodes(1), append(pods, taken), objects...)
	for _, pod := range waiting {
		if bench.ask(t, pod) {
			t.Fatalf("there is room for %s", pod.Name)
		}
	}
	passer := gangstate.Taking{
		Rank: gang.Rank{Gang: gang.Key{Namespace: "default", Name: "passer"}, Since: time.Unix(2000, 0)},
		Asks: sets.New("cpu", "memory", "pods"), Nodes: []map[string]string{{"rack": "r"}},
	}
	for range gangstate.MaxOvertakes {
		bench.plugin.gangs.Placed(passer)
	}
	return bench
}

// The younger gang needs one pod of two, which ask for what one and the other of the waiting gangs lack.
func TestRoomIsKeptForEveryGangThatWasPassedTooOften(t *testing.T) {
	cpu, memory := asking("young", "a", corev1.ResourceCPU, "100m"), asking("young", "b", corev1.ResourceMemory, "100Mi")
	bench := keptFor(t, []*corev1.Pod{cpu, memory},
		asking("first", "first", corev1.ResourceCPU, "1"), asking("second", "second", corev1.ResourceMemory, "1Gi"))
	for _, pod := range []*corev1.Pod{cpu, memory} {
		node, status := bench.schedule(t, pod)
		if status.IsSuccess() || !strings.Contains(status.Message(), "is kept for gang default/first") {
			t.Errorf("pod %s of a younger gang is on %q: %v", pod.Name, node, status)
		}
	}
	for name, resource := range map[string]string{"first": "cpu", "second": "memory"} {
		observed, err := bench.plugin.observe(gang.Key{Namespace: "default", Name: name})
		want := []scheduling.ReservationStatus{{Reason: scheduling.ReservationOvertaken, Resources: []string{resource}}}
		if diff := cmp.Diff(want, observed.Reservations); diff != "" || err != nil {
			t.Errorf("error %v, and of the room that is kept for it gang %s says (-want +got):\n%s", err, name, diff)
		}
	}
}

// Hundreds of gangs may wait for one domain in a full cluster, and each question is a decision of its own.
func TestADomainThatManyGangsWaitForIsAskedAboutOnce(t *testing.T) {
	young := asking("young", "young", corev1.ResourceCPU, "100m")
	bench := keptFor(t, []*corev1.Pod{young}, asking("first", "first", corev1.ResourceCPU, "1"),
		asking("second", "second", corev1.ResourceCPU, "1"), asking("third", "third", corev1.ResourceMemory, "1Gi"))
	if _, status := bench.schedule(t, young); status.IsSuccess() {
		t.Fatal("it is not kept out")
	}
	key := gang.Key{Namespace: "default", Name: "young"}
	nodes, err := bench.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	terrain := bench.plugin.view.Version(nodes)
	kept := bench.plugin.gangs.KeptDomains(gang.Rank{Gang: key, Since: time.Unix(3000, 0)})
	if len(kept) != 3 {
		t.Fatalf("%d domains are kept", len(kept))
	}
	for _, domain := range kept {
		podGroup, err := bench.plugin.lister.PodGroup(domain.For)
		if err != nil {
			t.Fatal(err)
		}
		asked := gangstate.Emptied{Domain: domain.Domain, Generation: podGroup.Generation, Terrain: terrain}
		_, known := bench.plugin.gangs.Holds(domain.For, asked)
		// The second waits for what the first waits for, and the third for what the young one does not ask for.
		if known != (domain.For.Name == "first") {
			t.Errorf("whether the domain could hold gang %s was asked: %t", domain.For.Name, known)
		}
	}
}

func TestAGangThatIsKeptOutIsNotSearchedForAgainWhileNothingChanges(t *testing.T) {
	young := asking("young", "young", corev1.ResourceCPU, "100m")
	bench := keptFor(t, []*corev1.Pod{young}, asking("first", "first", corev1.ResourceCPU, "1"))
	key := gang.Key{Namespace: "default", Name: "young"}
	if _, status := bench.schedule(t, young); status.IsSuccess() {
		t.Fatal("it is not kept out")
	}
	answer := bench.plugin.gangs.Last(key)
	if !answer.Basis.Reserves() {
		t.Fatal("the answer does not rest on the room that is kept")
	}
	if _, status := bench.schedule(t, young); status.IsSuccess() || bench.plugin.gangs.Last(key) != answer {
		t.Error("it was searched for once more")
	}
	bench.plugin.effects.do(bench.plugin.gangs.StopWaiting(gang.Key{Namespace: "default", Name: "first"}))
	if node, status := bench.schedule(t, young); !status.IsSuccess() {
		t.Errorf("nobody is waited for any more, and it is on %q: %v", node, status)
	}
}
