package plugin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// created returns a PodGroup of one pod that is so many seconds old at a time of 1000 seconds.
func created(name string, age int64) *scheduling.PodGroup {
	made := podGroup(name, 1)
	made.CreationTimestamp = metav1.NewTime(time.Unix(1000-age, 0))
	return made
}

// askingCPU is a pod, of a gang of that name unless it is empty, that asks for an amount of CPU.
func askingCPU(gang, name, amount string) *corev1.Pod {
	pod := newPod(gang, name)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	pod.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0))
	return pod
}

// overdue is a bench with one node, on which a gang of half a CPU has taken room while the old gang waited for all of
// it, and which it has been overtaken on as often as may be.
func overdue(t *testing.T, pods ...*corev1.Pod) *bench {
	t.Helper()
	old, passer := askingCPU("old", "old", "1"), askingCPU("passer", "passer", "500m")
	passer.Spec.NodeName = "n0"
	bench := newBench(t, newNodes(1), append(pods, old, passer), created("old", 100), created("passer", 50), created("young", 0),
		created("wide", 10))
	require.False(t, bench.ask(t, old), "there is room for the old gang")
	taking := gangstate.Taking{
		Rank: gang.Rank{Gang: gang.Key{Namespace: "default", Name: "passer"}, Since: time.Unix(950, 0)},
		Asks: sets.New("cpu"),
	}
	for range gangstate.MaxOvertakes {
		bench.plugin.gangs.Placed(taking, nil)
	}
	return bench
}

var (
	oldGang   = gang.Key{Namespace: "default", Name: "old"}
	youngGang = gang.Key{Namespace: "default", Name: "young"}
)

func TestAGangThatWouldOvertakeOnceTooOftenWaits(t *testing.T) {
	young := askingCPU("young", "young", "100m")
	bench := overdue(t, young)
	node, status := bench.schedule(t, young)
	const note = "room on n0 is reserved for gang default/old"
	require.False(t, status.IsSuccess(), "the young gang is on %q: %v", node, status)
	require.Contains(t, status.Message(), note, "the young gang is on %q: %v", node, status)
	answer := bench.plugin.gangs.View(youngGang).Last
	if answer.Verdict != scheduling.ReasonWaiting || answer.Certificate != nil || !answer.Basis.Reserves() {
		t.Errorf("its answer is %s, proved by %v", answer.Verdict, answer.Certificate)
	}
	observed, err := bench.plugin.observe(oldGang)
	if err != nil || len(observed.Reservations) != 1 ||
		cmp.Diff([]string{"n0"}, observed.Reservations[0].Nodes) != "" || observed.Reservations[0].Until == nil {
		t.Errorf("error %v, and the old gang says %+v", err, observed.Reservations)
	}
	if _, status := bench.schedule(t, young); status.IsSuccess() || bench.plugin.gangs.View(youngGang).Last != answer {
		t.Error("the young gang was searched for once more, and nothing has changed")
	}
	bench.plugin.effects.do(bench.plugin.gangs.PodGroupChanged(created("old", 100), nil, time.Now()))
	node, status = bench.schedule(t, young)
	assert.True(t, status.IsSuccess(), "nothing is reserved any more, and it is on %q: %v", node, status)
}

func TestAPodWithoutAGangLeavesReservedRoomAlone(t *testing.T) {
	young, plain, elder := askingCPU("young", "young", "100m"), askingCPU("", "plain", "100m"), askingCPU("", "elder", "100m")
	elder.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
	bench := overdue(t, young, plain, elder)
	_, status := bench.schedule(t, young)
	require.False(t, status.IsSuccess(), "nothing is reserved")
	node, _ := bench.schedule(t, plain)
	assert.Empty(t, node, "a pod that is younger")
	node, status = bench.schedule(t, elder)
	assert.NotEmpty(t, node, "a pod that is older has no node: %v", status)
}

func TestAGangThatDoesNotFitAnywayIsNotSaidToWaitForAnother(t *testing.T) {
	young, wide := askingCPU("young", "young", "100m"), askingCPU("wide", "wide", "600m")
	bench := overdue(t, young, wide)
	_, status := bench.schedule(t, young)
	require.False(t, status.IsSuccess(), "nothing is reserved")
	bench.ask(t, wide)
	answer := bench.plugin.gangs.View(gang.Key{Namespace: "default", Name: "wide"}).Last
	if answer == nil || answer.Verdict != scheduling.ReasonInfeasible || answer.Basis.Reserves() {
		t.Errorf("the answer is %+v", answer)
	}
}
