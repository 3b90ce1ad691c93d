package podgroupstatus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	packtreefake "packtree.dev/shared/client/clientset/versioned/fake"
	schedulingclient "packtree.dev/shared/client/clientset/versioned/typed/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func TestGangsDoNotWaitForEachOthersStatus(t *testing.T) {
	var together, looks sync.WaitGroup
	together.Add(2) // Two must be under way together, or this never ends.
	looks.Add(2)
	observe := func(gang.Key) (podgroupstatus.Observed, error) {
		together.Done()
		together.Wait()
		looks.Done()
		return podgroupstatus.Observed{}, apierrors.NewNotFound(scheduling.Resource("podgroups"), "gone")
	}
	run(t, nil, observe, func(writer *podgroupstatus.Writer) {
		writer.Enqueue(gang.Key{Namespace: "default", Name: "a"})
		writer.Enqueue(gang.Key{Namespace: "default", Name: "b"})
		looks.Wait()
	})
}

func TestAGangIsLookedAtByOneAtATime(t *testing.T) {
	const changes = 200
	key := gang.Key{Namespace: "default", Name: "a"}
	var under, looks atomic.Int32
	var writer *podgroupstatus.Writer
	done := make(chan struct{})
	observe := func(gang.Key) (podgroupstatus.Observed, error) {
		if under.Add(1) > 1 {
			t.Error("two look at the gang at once")
		}
		defer under.Add(-1)
		if looks.Add(1) == 3 {
			close(done)
		}
		for range changes {
			writer.Enqueue(key)
		}
		return podgroupstatus.Observed{}, errors.New("not readable")
	}
	run(t, nil, observe, func(w *podgroupstatus.Writer) {
		writer = w
		writer.Enqueue(key)
		<-done
	})
}

// Many gangs come at once. The API server has their pods to bind: it is told of a few that they wait for their turn, of the others
// later, and of what was decided at once.
func TestManyGangsThatWaitForTheirTurnAreToldOfLater(t *testing.T) {
	const gangs = 30
	var objects []runtime.Object
	for i := range gangs {
		objects = append(objects, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("gang-", i), UID: types.UID(fmt.Sprint(i))},
			Spec:       scheduling.PodGroupSpec{MinMember: ptr.To(int32(1))},
		})
	}
	client := packtreefake.NewSimpleClientset(objects...)
	written := make(chan string, 10*gangs)
	client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written <- action.(clienttesting.PatchAction).GetName()
		return true, objects[0], nil
	})
	last := key(gangs - 1)
	observe := func(of gang.Key) (podgroupstatus.Observed, error) {
		podGroup, err := client.SchedulingV2alpha2().PodGroups(of.Namespace).Get(t.Context(), of.Name, metav1.GetOptions{})
		if err != nil {
			return podgroupstatus.Observed{}, err
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
		assembled, hold := gang.Assemble(podGroup, []*corev1.Pod{pod}, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
		observed := podgroupstatus.Observed{Gang: assembled, Hold: hold}
		if of == last {
			observed.Last = &decision.Answer{Verdict: scheduling.ReasonInfeasible}
		}
		return observed, nil
	}
	run(t, client.SchedulingV2alpha2(), observe, func(writer *podgroupstatus.Writer) {
		for i := range gangs {
			writer.Enqueue(key(i))
		}
		seen := map[string]int{}
		for len(seen) < gangs {
			name := <-written
			seen[name]++
			if name == last.Name && len(seen) > gangs/2 {
				t.Errorf("the refusal was written after %d others", len(seen)-1)
			}
		}
	})
}

func key(i int) gang.Key { return gang.Key{Namespace: "default", Name: fmt.Sprint("gang-", i)} }

// run has a writer at work while something is done.
func run(
	t *testing.T, client schedulingclient.PodGroupsGetter, observe podgroupstatus.Observe, do func(*podgroupstatus.Writer),
) {
	t.Helper()
	writer := podgroupstatus.NewWriter(client, observe, gangevents.New(events.NewFakeRecorder(100)),
		gangstate.New(func(string) bool { return true }))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); writer.Run(ctx) }()
	do(writer)
	stop()
	<-ended
}
