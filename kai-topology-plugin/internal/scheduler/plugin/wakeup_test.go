package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/utils/ptr"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	packtreefake "packtree.dev/shared/client/clientset/versioned/fake"
)

// Pods are made behind a scheduling gate, grouped, and let go by programs that know nothing of each other, while the
// PodGroup comes from a watch of its own. Whichever of this the scheduler's queue, its plugins and our handlers see
// first, a gang that is complete in the end is bound: in no order may the last wake-up be lost.
func TestGangsMadeInAnyOrderAreBound(t *testing.T) {
	const gangs = 200
	for shape, draw := range map[string]struct {
		podGroup func(name string) *scheduling.PodGroup
		// leaves has that of each pod, empty for those of a PodGroup without subgroups.
		leaves []string
	}{
		"no pod beyond the minimum": {
			podGroup: func(name string) *scheduling.PodGroup { return podGroup(name, 2) },
			leaves:   []string{"", ""},
		},
		"pods of two subgroups, half of them beyond its minimum": {
			podGroup: func(name string) *scheduling.PodGroup { return withLeaves(podGroup(name, 0), "x", "y") },
			leaves:   []string{"x", "x", "y", "y"},
		},
	} {
		t.Run(shape, func(t *testing.T) {
			rig := startRig(t, gangs*len(draw.leaves))
			var makers sync.WaitGroup
			for i := range gangs {
				name := fmt.Sprintf("g%03d", i)
				makers.Go(func() { pause(); rig.makePodGroup(t, draw.podGroup(name)) })
				for i, leaf := range draw.leaves {
					makers.Go(func() { pause(); rig.makePod(t, name, leaf, fmt.Sprint(name, "-", i)) })
				}
			}
			makers.Wait()
			rig.eventuallyAllBound(t, gangs*len(draw.leaves))
		})
	}
}

// withLeaves gives a PodGroup subgroups that need one pod each.
func withLeaves(made *scheduling.PodGroup, names ...string) *scheduling.PodGroup {
	made.Spec.MinMember = nil
	for _, name := range names {
		made.Spec.SubGroups = append(made.Spec.SubGroups, scheduling.SubGroup{Name: name, MinMember: ptr.To[int32](1)})
	}
	return made
}

// The same for gangs with pods that are in the wrong subgroup at first, or are deleted and created again, and with
// PodGroups that are changed, or deleted and created again.
func TestGangsThatChangeWhileTheyAreMadeAreBound(t *testing.T) {
	const gangs = 150
	leaves := []string{"x", "x", "y", "y"}
	rig := startRig(t, gangs*(len(leaves)+1))
	var makers sync.WaitGroup
	for i := range gangs {
		name := fmt.Sprintf("g%03d", i)
		makers.Go(func() { rig.makePodGroupInSteps(t, withLeaves(podGroup(name, 0), "x", "y")) })
		for i, leaf := range leaves {
			makers.Go(func() { rig.makePodInSteps(t, name, leaf, fmt.Sprint(name, "-", i)) })
		}
	}
	makers.Wait()
	rig.eventuallyAllBound(t, gangs*len(leaves))
}

// makePodGroupInSteps makes a PodGroup after one that is like it or asks for something else.
func (r *rig) makePodGroupInSteps(t *testing.T, last *scheduling.PodGroup) {
	pause()
	first := last.DeepCopy()
	last.Generation++
	switch rand.N(5) {
	case 0:
		first.Spec.SubGroups[0].MinMember = ptr.To[int32](2)
	case 1:
		first.Spec.SubGroups[0].MinMember = ptr.To[int32](3)
	case 2:
		first.Spec.SubGroups[0].Name = "other"
	case 3:
		first.UID, last.UID = "first", "last"
	default:
		r.makePodGroup(t, last)
		return
	}
	r.makePodGroup(t, first)
	pause()
	podGroups := scheduling.SchemeGroupVersion.WithResource("podgroups")
	if first.UID == last.UID {
		require.NoError(t, r.packtree.Tracker().Update(podGroups, last, last.Namespace), "changing PodGroup %s", last.Name)
		return
	}
	require.NoError(t, r.packtree.Tracker().Delete(podGroups, first.Namespace, first.Name),
		"deleting PodGroup %s", first.Name)
	pause()
	r.makePodGroup(t, last)
}

// makePodInSteps makes a pod as makePod does, in its subgroup or after it was in another one, or after a pod that is
// deleted wherever it is by then.
func (r *rig) makePodInSteps(t *testing.T, gang, leaf, name string) {
	pause()
	switch rand.N(4) {
	case 0:
		r.makePod(t, gang, "stray", name)
		pause()
		r.patch(t, name, 3, grouped(gang, leaf))
		return
	case 1:
		r.makePod(t, gang, leaf, name)
		pause()
		require.NoError(t, r.kube.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}),
			"deleting pod %s", name)
		pause()
		name += "-successor"
	}
	r.makePod(t, gang, leaf, name)
}

// A pod that is held for one gang and then moved to another was never looked at as a member of that one.
func TestAPodThatIsMovedToAnotherGangIsNotForgotten(t *testing.T) {
	rig := startRig(t, 1)
	rig.makePodGroup(t, podGroup("right", 1))
	_, err := rig.kube.CoreV1().Pods("default").Create(t.Context(), newPod("wrong", "moved"),
		metav1.CreateOptions{})
	require.NoError(t, err)
	// For the queue to hold it; too short a time would let a wrong program pass, not fail a right one.
	time.Sleep(200 * time.Millisecond)
	rig.patch(t, "moved", 1, grouped("right", ""))
	rig.eventuallyAllBound(t, 1)
}

// pause lets the other makers overtake this one.
func pause() { time.Sleep(rand.N(10 * time.Millisecond)) }

// The memory panics if a watcher falls behind by more than this. It is set before any goroutine reads it.
func init() { watch.DefaultChanSize = 10_000 }

// rig is a whole kube-scheduler, queue and informers included, on API servers that are memory.
type rig struct {
	kube     *fake.Clientset
	packtree *packtreefake.Clientset
}

func startRig(t *testing.T, nodeCount int, options ...scheduler.Option) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	shared := &profiles{}
	made := &rig{kube: fake.NewSimpleClientset(), packtree: packtreefake.NewSimpleClientset()}
	made.kube.PrependReactor("create", "pods", made.bind)
	for _, node := range newNodes(nodeCount) {
		node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
		require.NoError(t, made.kube.Tracker().Add(node))
	}
	factory := scheduler.NewInformerFactory(made.kube, 0)
	options = append(options,
		scheduler.WithProfiles(profileWithPlugin(t)),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{
			Name: func(ctx context.Context, _ kruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
				return newPluginAmong(ctx, shared, handle, made.packtree, make(chan struct{}))
			},
		}))
	running, err := scheduler.New(ctx, made.kube, factory, nil,
		profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: made.kube.EventsV1()})), options...)
	require.NoError(t, err)
	running.SchedulingQueue = shared.queue(running.SchedulingQueue)
	start(ctx, t, factory, running)
	return made
}

func start(ctx context.Context, t *testing.T, factory informers.SharedInformerFactory, running *scheduler.Scheduler) {
	t.Helper()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	require.NoError(t, running.WaitForHandlersSync(ctx))
	var done sync.WaitGroup
	done.Go(func() { running.Run(ctx) })
	t.Cleanup(done.Wait)
}

func profileWithPlugin(t *testing.T) config.KubeSchedulerProfile {
	t.Helper()
	configuration, err := latest.Default()
	require.NoError(t, err)
	chosen := configuration.Profiles[0]
	chosen.SchedulerName = kai.SchedulerName
	chosen.Plugins.MultiPoint.Enabled = append(chosen.Plugins.MultiPoint.Enabled, config.Plugin{Name: Name})
	chosen.Plugins.QueueSort = config.PluginSet{Enabled: []config.Plugin{{Name: Name}},
		Disabled: []config.Plugin{{Name: "*"}}}
	chosen.Plugins.PostFilter = config.PluginSet{Enabled: []config.Plugin{{Name: Name}}}
	return chosen
}

// bind is the API server's part of a binding.
func (r *rig) bind(action clienttesting.Action) (bool, kruntime.Object, error) {
	created, ok := action.(clienttesting.CreateAction)
	if !ok || action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := created.GetObject().(*corev1.Binding)
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	object, err := r.kube.Tracker().Get(resource, binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	bound := object.(*corev1.Pod).DeepCopy()
	bound.Spec.NodeName, bound.ResourceVersion = binding.Target.Name, "bound"
	return true, binding, r.kube.Tracker().Update(resource, bound, binding.Namespace)
}

func (r *rig) makePodGroup(t *testing.T, made *scheduling.PodGroup) {
	assert.NoError(t, r.packtree.Tracker().Add(made), "making PodGroup %s", made.Name)
}

// makePod makes a gated pod, and in random order groups it and lets it go.
func (r *rig) makePod(t *testing.T, gang, leaf, name string) {
	pod := newPod("", name)
	pod.Labels = map[string]string{grove.LabelPodGang: gang}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
	steps := []string{grouped(gang, leaf), `},"spec":{"schedulingGates":null}`}
	rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	if _, err := r.kube.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("making pod %s: %v", name, err)
		return
	}
	for i, step := range steps {
		pause()
		r.patch(t, name, i+1, step)
	}
}

// grouped is the change, for patch, that names the PodGroup of a pod, and its leaf if that has any.
func grouped(gang, leaf string) string {
	labelled := ""
	if leaf != "" {
		labelled = `,"labels":{"` + kai.LabelSubGroupName + `":"` + leaf + `"}`
	}
	return labelled + `,"annotations":{"` + scheduling.AnnotationPodGroupName + `":"` + gang + `"}}`
}

// patch changes a pod. The memory counts no resource versions, and the queue passes over an update that has the old
// one.
func (r *rig) patch(t *testing.T, name string, version int, change string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"%s}`, version, change)
	_, err := r.kube.CoreV1().Pods("default").Patch(t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	assert.NoError(t, err, "changing pod %s", name)
}

// eventuallyAllBound waits less long than kube-scheduler lets a pod sleep before it tries it again by itself.
func (r *rig) eventuallyAllBound(t *testing.T, count int) {
	t.Helper()
	var waiting []string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			pods, err := r.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			waiting = nil
			for _, pod := range pods.Items {
				if pod.Spec.NodeName == "" {
					waiting = append(waiting, pod.Name)
				}
			}
			return len(pods.Items) == count && len(waiting) == 0, nil
		})
	require.NoError(t, err, "%d of %d pods are never bound: %v", len(waiting), count, waiting)
}
