package podgroupstatus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned/fake"
	schedulingclient "packtree.dev/shared/client/clientset/versioned/typed/scheduling/v2alpha2"
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

// A scheduler that is newer than the cluster's CRD writes the fields that both know.
func TestAStatusIsWrittenWithoutTheFieldsThatTheCRDLacks(t *testing.T) {
	seen := observed(t, 2, 1, 1)
	seen.Seats = []scheduling.SeatsStatus{{Nodes: []string{"n"}}}
	bodies := make(chan string, 2)
	client := fake.NewSimpleClientset(seen.Gang.PodGroup)
	client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
		body := string(action.(clienttesting.PatchAction).GetPatch())
		bodies <- body
		if strings.Contains(body, "seats") {
			return true, nil, errors.New("cannot apply: .status.seats: field not declared in schema")
		}
		return true, seen.Gang.PodGroup, nil
	})
	observe := func(gang.Key) (podgroupstatus.Observed, error) { return seen, nil }
	run(t, client.SchedulingV2alpha2(), observe, func(writer *podgroupstatus.Writer) {
		writer.Enqueue(gang.Key{Name: "gang"})
		<-bodies
		if body := <-bodies; strings.Contains(body, "seats") || !strings.Contains(body, "conditions") {
			t.Errorf("written is %s", body)
		}
	})
}

// run has a writer at work while something is done.
func run(
	t *testing.T, client schedulingclient.PodGroupsGetter, observe podgroupstatus.Observe,
	do func(*podgroupstatus.Writer),
) {
	t.Helper()
	writer := podgroupstatus.NewWriter(client, observe, nil, gangstate.New(func(string) bool { return true }))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); writer.Run(ctx) }()
	do(writer)
	stop()
	<-ended
}
