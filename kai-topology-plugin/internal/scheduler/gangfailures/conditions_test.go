package gangfailures_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/scheduler/gangfailures"
)

// api is an API server that knows pods alone and takes patches of their status as a real one does: with the version and
// UID that a patch rests on. Its cache lags until it is brought up to date.
type api struct {
	conditions *gangfailures.Conditions
	cache      cache.Indexer

	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	patched []string
	// failing is what the next patches are answered with, and slow holds each of them until it is closed.
	failing []error
	slow    chan struct{}
	begun   chan struct{}
}

func newAPI(t *testing.T, pods ...*corev1.Pod) *api {
	t.Helper()
	a := &api{
		cache: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		pods: map[string]*corev1.Pod{}, begun: make(chan struct{}, 10_000),
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	for _, pod := range pods {
		a.change(pod.Name, func(stored *corev1.Pod) { *stored = *pod.DeepCopy() })
	}
	a.catchUp(t)
	a.conditions = gangfailures.NewConditions(client, corelisters.NewPodLister(a.cache))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); a.conditions.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return a
}

// change changes a pod, or makes it.
func (a *api) change(name string, change func(*corev1.Pod)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := &corev1.Pod{}
	if before := a.pods[name]; before != nil {
		pod = before.DeepCopy()
	}
	version, _ := strconv.Atoi(pod.ResourceVersion)
	change(pod)
	pod.ResourceVersion = strconv.Itoa(version + 1)
	a.pods[name] = pod
}

func (a *api) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, name)
}

// catchUp brings the cache up to date.
func (a *api) catchUp(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []any
	for _, pod := range a.pods {
		all = append(all, pod.DeepCopy())
	}
	assert.NoError(t, a.cache.Replace(all, ""))
}

func (a *api) stored(name string) *corev1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods[name].DeepCopy()
}

// patches is how many patches were carried out.
func (a *api) patches() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.patched)
}

// ServeHTTP answers a patch of a pod's status.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.begun <- struct{}{}
	a.mu.Lock()
	slow := a.slow
	a.mu.Unlock()
	if slow != nil {
		<-slow
	}
	name := path.Base(path.Dir(r.URL.Path))
	patch, err := io.ReadAll(r.Body)
	var answer any
	if err == nil {
		answer, err = a.patch(name, patch)
	}
	w.Header().Set("Content-Type", "application/json")
	var refused apierrors.APIStatus
	if errors.As(err, &refused) {
		status := refused.Status()
		w.WriteHeader(int(status.Code))
		answer = status
	} else if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func (a *api) patch(name string, patch []byte) (*corev1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failing) > 0 {
		err := a.failing[0]
		a.failing = a.failing[1:]
		return nil, err
	}
	before := a.pods[name]
	if before == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	var given corev1.Pod
	if err := json.Unmarshal(patch, &given); err != nil {
		return nil, err
	}
	if given.ResourceVersion != "" && given.ResourceVersion != before.ResourceVersion ||
		given.UID != "" && given.UID != before.UID {
		return nil, apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("it has changed"))
	}
	old, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(old, patch, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	after := &corev1.Pod{}
	if err := json.Unmarshal(merged, after); err != nil {
		return nil, err
	}
	version, _ := strconv.Atoi(before.ResourceVersion)
	after.ResourceVersion = strconv.Itoa(version + 1)
	a.pods[name], a.patched = after, append(a.patched, name)
	return after.DeepCopy(), nil
}

// settle brings the cache up to date until nothing is left to be reported.
func (a *api) settle(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !a.conditions.Idle(); time.Sleep(time.Millisecond) {
		require.False(t, time.Now().After(deadline), "a pod is not told what it is to be told")
		a.catchUp(t)
	}
	a.catchUp(t)
}

func (a *api) message(name string) string {
	pod := a.stored(name)
	if len(pod.Status.Conditions) == 0 {
		return ""
	}
	return pod.Status.Conditions[0].Message
}

func waits(sentence string) *corev1.PodCondition {
	return &corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: sentence}
}

func TestTheNewestSentenceIsWritten(t *testing.T) {
	pod := newPod("gang")
	a := newAPI(t, pod)
	a.slow = make(chan struct{})
	a.conditions.Set(pod, waits("first"))
	<-a.begun
	for i := range 50 {
		a.conditions.Set(pod, waits(fmt.Sprint("sentence ", i)))
	}
	close(a.slow)
	a.settle(t)
	assert.Equal(t, "sentence 49", a.message("pod"))
	assert.LessOrEqual(t, a.patches(), 3, "patches, though nobody could have seen what was between the first and the last")
}

func TestASentenceThatComesBackIsWrittenThoughTheCacheStillHasIt(t *testing.T) {
	pod := newPod("gang")
	pod.Status.Conditions = []corev1.PodCondition{*waits("old")}
	a := newAPI(t, pod)
	for _, sentence := range []string{"new", "old"} {
		a.conditions.Set(pod, waits(sentence))
		for deadline := time.Now().Add(time.Minute); !a.conditions.Idle(); time.Sleep(time.Millisecond) { // The cache lags.
			require.False(t, time.Now().After(deadline), "%q is not written", sentence)
		}
	}
	assert.Equal(t, "old", a.message("pod"))
	assert.Equal(t, 2, a.patches())
}

func TestAPodThatWasBoundMeanwhileIsNotSaidToWait(t *testing.T) {
	pod := newPod("gang")
	a := newAPI(t, pod)
	a.change("pod", func(pod *corev1.Pod) { // The cache does not know yet.
		pod.Spec.NodeName = "node"
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	})
	a.conditions.Set(pod, waits("no rack has room"))
	<-a.begun
	a.settle(t)
	if stored := a.stored("pod"); stored.Status.Conditions[0].Status != corev1.ConditionTrue || a.patches() > 0 {
		t.Errorf("the bound pod says %v", stored.Status.Conditions)
	}
}

func TestRecipientsOfStatuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(a *api)
		want   string
	}{
		"a pod that has changed otherwise": {func(a *api) {
			a.change("pod", func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} })
		}, "no rack has room"},
		"a pod after errors of the API server": {func(a *api) {
			a.failing = []error{apierrors.NewInternalError(errors.New("etcd")), apierrors.NewTooManyRequests("slow down", 0)}
		}, "no rack has room"},
		"not a pod of the same name that came later": {func(a *api) {
			a.change("pod", func(pod *corev1.Pod) { pod.UID = "another" })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("gang")
			a := newAPI(t, pod)
			test.change(a)
			a.conditions.Set(pod, waits("no rack has room"))
			a.settle(t)
			assert.Equal(t, test.want, a.message("pod"))
		})
	}
	t.Run("not a pod that is gone", func(t *testing.T) {
		pod := newPod("gang")
		a := newAPI(t, pod)
		a.remove("pod")
		a.conditions.Set(pod, waits("no rack has room"))
		a.settle(t)
		assert.Zero(t, a.patches())
	})
}

func TestTheLoopDoesNotWaitForTheAPIServer(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 40 {
		pod := newPod("gang")
		pod.Name = fmt.Sprint("pod-", i)
		pod.UID = types.UID(pod.Name)
		pods = append(pods, pod)
	}
	a := newAPI(t, pods...)
	a.slow = make(chan struct{})
	for _, pod := range pods {
		a.conditions.Set(pod, waits("no rack has room")) // Returns though no patch is answered.
	}
	for range 16 {
		<-a.begun // So many are under way at once.
	}
	close(a.slow)
	a.settle(t)
	assert.Equal(t, len(pods), a.patches(), "%d of %d pods were told", a.patches(), len(pods))
}

func TestANominationIsWrittenBeforeTheHandlerReturns(t *testing.T) {
	pod := newPod("gang")
	pod.Status.NominatedNodeName = "old"
	a := newAPI(t, pod)
	handler := gangfailures.Handler(kubeHandler(t), a.conditions, func(*corev1.Pod) bool { return true })
	info, err := framework.NewPodInfo(pod)
	require.NoError(t, err)
	handler(t.Context(), &profile{recorder: newRecorder()}, &framework.QueuedPodInfo{PodInfo: info},
		misfit(4, "no rack has room"),
		&fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: "node"}, time.Now())
	assert.Equal(t, "node", a.stored("pod").Status.NominatedNodeName, "the nominated node")
	a.settle(t)
	assert.Equal(t, "no rack has room", a.message("pod"))
}
