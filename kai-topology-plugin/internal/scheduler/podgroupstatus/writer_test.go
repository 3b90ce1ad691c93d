package podgroupstatus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
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
		return podgroupstatus.Observed{}, nil // It is gone.
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
		assert.LessOrEqual(t, under.Add(1), int32(1), "two look at the gang at once")
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

// native is a group of gang "serve".
func native(t *testing.T, kind, version, name, rest string) *nativegroups.Group {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t,
		yaml.Unmarshal([]byte(fmt.Sprintf("{apiVersion: scheduling.k8s.io/%s, kind: %s, metadata: {name: %s, "+
			"namespace: ns}, %s}", version, kind, name, rest)), &object.Object))
	group, err := nativegroups.Read(object)
	require.NoError(t, err)
	return group
}

// Nothing but the condition of its version goes into the status of a native group: what is known of it, and nothing of
// one that waits and was not tried.
func TestTheStatusOfNativeGroupsIsWritten(t *testing.T) {
	const inside = "spec: {parentCompositePodGroupName: serve, schedulingPolicy: {gang: {minCount: 1}}}"
	forest := &nativegroups.Forest{}
	forest.Set(native(t, "CompositePodGroup", "v1alpha3", "serve",
		"spec: {schedulingPolicy: {gang: {minGroupCount: 2}}}, status: {conditions: [{reason: Unschedulable, "+
			"type: CompositePodGroupInitiallyScheduled, status: 'False', message: 'Infeasible: no room'}]}"))
	forest.Set(native(t, "PodGroup", "v1beta1", "decode", inside))
	forest.Set(native(t, "PodGroup", "v1beta1", "prefill", inside))
	root := forest.Roots()[0]
	podGroup := forest.Gang(root, nil)
	pods := []*corev1.Pod{{}, {}}
	for i, leaf := range []string{"decode", "prefill"} {
		pods[i].Labels = map[string]string{"kai.scheduler/subgroup-name": leaf}
	}
	pods[0].Spec.NodeName = "node"
	assembled, hold := gang.Assemble(podGroup, pods, nil)
	seen := podgroupstatus.Observed{Gang: assembled, Hold: hold}
	client, written := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), make(chan string, 10)
	client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		var body struct {
			Status map[string][]metav1.Condition `json:"status"`
		}
		if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
			return true, nil, err
		}
		for field, conditions := range body.Status {
			written <- fmt.Sprintf("%s %s %s of %s: %s %s %s", patch.GetResource().Resource, patch.GetSubresource(),
				field, patch.GetName(), conditions[0].Type, conditions[0].Status, conditions[0].Message)
		}
		return true, &unstructured.Unstructured{}, nil
	})
	observe := func(gang.Key) (podgroupstatus.Observed, error) { return seen, nil }
	run(t, nil, observe, func(writer *podgroupstatus.Writer) {
		writer.Natives = podgroupstatus.Natives{
			Groups: func(gang.Key) []*nativegroups.Group { return forest.Groups(root) }, Client: client,
		}
		writer.Enqueue(assembled.Key())
		for _, want := range []string{
			"compositepodgroups status conditions of serve: CompositePodGroupInitiallyScheduled False " +
				"Waiting: pods that have a node: 1, pods that wait: 1",
			"podgroups status conditions of decode: PodGroupInitiallyScheduled True ",
		} {
			assert.Equal(t, want, <-written)
		}
	})
}

// run has a writer at work while something is done.
func run(
	t *testing.T, client schedulingclient.PodGroupsGetter, observe podgroupstatus.Observe,
	do func(*podgroupstatus.Writer),
) {
	t.Helper()
	writer := podgroupstatus.NewWriter(client, observe, gangevents.New(events.NewFakeRecorder(100)),
		gangstate.New(func(string) bool { return true }, nil))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); writer.Run(ctx) }()
	do(writer)
	stop()
	<-ended
}
