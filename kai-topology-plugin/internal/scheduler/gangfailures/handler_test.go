package gangfailures_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/scheduler/gangfailures"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// profile is kube-scheduler's, as far as its failure handler looks at it.
type profile struct {
	framework.Framework
	recorder *events.FakeRecorder
}

func (p *profile) EventRecorder() events.EventRecorderLogger { return p.recorder }
func (p *profile) APICacher() fwk.APICacher                  { return nil }

// kubeHandler does with a profile what kube-scheduler's own handler does.
func kubeHandler(
	t *testing.T,
) func(context.Context, framework.Framework, *framework.QueuedPodInfo, *fwk.Status, *fwk.NominatingInfo, time.Time) {
	return func(ctx context.Context, with framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, _ time.Time) {
		with.EventRecorder().WithLogger(klog.FromContext(ctx)).Eventf(info.Pod, nil, corev1.EventTypeWarning,
			"FailedScheduling", "Scheduling", status.Message())
		cacher := with.APICacher()
		if cacher == nil {
			return // Written by kube-scheduler itself.
		}
		condition := &corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: status.Message()}
		_, err := cacher.PatchPodStatus(info.Pod, condition, nominating)
		assert.NoError(t, err)
	}
}

func misfit(nodes int, preFilter string) *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable).WithError(
		&framework.FitError{NumAllNodes: nodes, Diagnosis: framework.Diagnosis{
			PreFilterMsg: preFilter, NodeToStatus: framework.NewDefaultNodeToStatus(),
		}})
}

// fail has an attempt at the pod fail and returns the events of it, the patches, and the pod as it then is.
func fail(t *testing.T, pod *corev1.Pod, statuses ...*fwk.Status) (told []string, patches int, after *corev1.Pod) {
	t.Helper()
	api := newAPI(t, pod)
	seen := &profile{recorder: newRecorder()}
	handler := gangfailures.Handler(kubeHandler(t), api.conditions,
		func(pod *corev1.Pod) bool { return pod.Annotations["unmarked"] == "" })
	nominating := &fwk.NominatingInfo{NominatingMode: fwk.ModeNoop}
	after = pod
	for _, status := range statuses {
		info, err := framework.NewPodInfo(after)
		require.NoError(t, err)
		handler(t.Context(), seen, &framework.QueuedPodInfo{PodInfo: info}, status, nominating, time.Now())
		api.settle(t)
		after = api.stored(pod.Name)
	}
	close(seen.recorder.Events)
	for event := range seen.recorder.Events {
		told = append(told, event)
	}
	return told, api.patches(), after
}

func newRecorder() *events.FakeRecorder { return events.NewFakeRecorder(10) }

func newPod(group string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", UID: types.UID("uid")}}
	if group != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: group}
	}
	return pod
}

func TestAPodOfAGangIsToldOnceAndInItsWords(t *testing.T) {
	told, patches, after := fail(t, newPod("gang"),
		misfit(4, "no rack has room"), misfit(5, "no rack has room"), misfit(5, "no rack has room for 3"))
	assert.Empty(t, cmp.Diff([]string{"Warning FailedScheduling no rack has room"}, told), "events (-want +got)")
	assert.Equal(t, 2, patches, "the condition was written %d times for 2 sentences", patches)
	assert.Equal(t, "no rack has room for 3", after.Status.Conditions[0].Message)
}

func TestAPodThatIsNotToBeMarkedIsToldAllTheSame(t *testing.T) {
	pod := newPod("gang")
	pod.Annotations["unmarked"] = "true"
	told, _, after := fail(t, pod, misfit(4, "no rack has room"), misfit(5, "no rack has room"))
	assert.Empty(t, cmp.Diff([]string{"Warning FailedScheduling no rack has room"}, told), "events (-want +got)")
	condition := after.Status.Conditions[0]
	assert.Equal(t, scheduling.PodReasonWaitingForGang, condition.Reason)
	assert.Equal(t, "no rack has room", condition.Message)
}

// The condition that an earlier scheduler wrote goes with an event if the pod was tried then.
func TestAPodIsToldOnceAlsoAfterARestart(t *testing.T) {
	for reason, want := range map[string][]string{
		corev1.PodReasonUnschedulable:      nil,
		scheduling.PodReasonWaitingForGang: {"Warning FailedScheduling no rack has room"},
	} {
		pod := newPod("gang")
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: "no rack has room",
		}}
		told, patches, _ := fail(t, pod, misfit(4, "no rack has room"))
		assert.Empty(t, cmp.Diff(want, told), "%s: %d patches, events (-want +got)", reason, patches)
		assert.Equal(t, want != nil, patches > 0, "%s: %d patches", reason, patches)
	}
}

// The queue may have a pod from before it was grouped, and one of the same name from before it was recreated.
func TestAPodIsOfAGangIfTheCacheSaysSo(t *testing.T) {
	alone := "Warning FailedScheduling 0/4 nodes are available: no rack has room."
	for name, test := range map[string]struct {
		queued, now string
		recreated   bool
		want        string
	}{
		"grouped meanwhile":                 {queued: "", now: "gang", want: "Warning FailedScheduling no rack has room"},
		"ungrouped meanwhile":               {queued: "gang", now: "", want: alone},
		"recreated, and in a gang only now": {queued: "", now: "gang", recreated: true, want: alone},
	} {
		t.Run(name, func(t *testing.T) {
			now := newPod(test.now)
			if test.recreated {
				now.UID = "another"
			}
			api, seen := newAPI(t, now), &profile{recorder: newRecorder()}
			info, err := framework.NewPodInfo(newPod(test.queued))
			require.NoError(t, err)
			gangfailures.Handler(kubeHandler(t), api.conditions, func(*corev1.Pod) bool { return true })(t.Context(), seen,
				&framework.QueuedPodInfo{PodInfo: info}, misfit(4, "no rack has room"),
				&fwk.NominatingInfo{NominatingMode: fwk.ModeNoop}, time.Now())
			close(seen.recorder.Events)
			assert.Equal(t, test.want, <-seen.recorder.Events)
		})
	}
}

func TestAPodWithoutAGangIsLeftToKubeScheduler(t *testing.T) {
	told, patches, _ := fail(t, newPod(""), misfit(4, "first"), misfit(4, "second"))
	want := []string{
		"Warning FailedScheduling 0/4 nodes are available: first.",
		"Warning FailedScheduling 0/4 nodes are available: second.",
	}
	assert.Empty(t, cmp.Diff(want, told), "events (-want +got)")
	assert.Zero(t, patches, "patches that kube-scheduler did not make")
}

func TestSentence(t *testing.T) {
	refused := framework.NewDefaultNodeToStatus()
	refused.Set("n1", fwk.NewStatus(fwk.Unschedulable, "the plan was broken"))
	atPermit := fwk.NewStatus(fwk.Unschedulable).WithError(
		&framework.FitError{NumAllNodes: 1, Diagnosis: framework.Diagnosis{NodeToStatus: refused}})
	anew := fwk.NewStatus(fwk.Unschedulable).WithError(&framework.FitError{NumAllNodes: 9, Diagnosis: framework.Diagnosis{
		NodeToStatus: refused, PostFilterMsg: "planned anew soon",
	}})
	for name, test := range map[string]struct {
		status *fwk.Status
		want   string
	}{
		"turned down before any node was looked at": {misfit(4, "no rack has room"), "no rack has room"},
		"sent back from its node":                   {atPermit, "the plan was broken"},
		"its node did not take it":                  {anew, "planned anew soon"},
		"an error":                                  {fwk.AsStatus(errors.New("no API server")), "no API server"},
		"nothing but a count of nodes":              {misfit(3, ""), "0/3 nodes are available:"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, gangfailures.Sentence(test.status))
		})
	}
}
