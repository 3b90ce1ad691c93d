package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"
)

// Witness sees every change of a namespace's pods, so that it knows what held at every moment, and not only when it was
// checked.
type Witness struct {
	stop func()

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
	// created counts all pods that ever existed, by image.
	created map[string]int
	floors  []Floor
	look    func(pods map[types.UID]*corev1.Pod, was, is *corev1.Pod) string
	// broken are the moments in which a count was below its floor, or something was wrong to look at.
	broken []string
}

// Floor is a minimum for a count of ready pods.
type Floor struct {
	what  string
	least int
	// count computes it from the number of ready pods of each PodClique.
	count func(ready map[string]int) int
}

// PodsOf is the floor of a PodClique.
func PodsOf(podClique string, least int) Floor {
	return Floor{what: "ready pods of " + podClique, least: least,
		count: func(ready map[string]int) int { return ready[podClique] }}
}

// CopiesOf is the floor of a scaling group: so many of its copies have the pods that each of their cliques needs.
func CopiesOf(group string, copies int, needs map[string]int, least int) Floor {
	return Floor{what: "available copies of " + group, least: least, count: func(ready map[string]int) int {
		available := 0
		for j := range copies {
			whole := true
			for clique, pods := range needs {
				whole = whole && ready[fmt.Sprintf("%s-%d-%s", group, j, clique)] >= pods
			}
			if whole {
				available++
			}
		}
		return available
	}}
}

func newWitness(server *rest.Config, namespace string) (*Witness, error) {
	clientset, err := kubernetes.NewForConfig(server)
	if err != nil {
		return nil, err
	}
	w := &Witness{pods: map[types.UID]*corev1.Pod{}, created: map[string]int{}}
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.sees(object, false) },
		UpdateFunc: func(_, object any) { w.sees(object, false) },
		DeleteFunc: func(object any) { w.sees(object, true) },
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	w.stop = func() { stop(); factory.Shutdown() }
	factory.Start(running.Done())
	if !cache.WaitForCacheSync(running.Done(), registration.HasSynced) {
		return nil, fmt.Errorf("watching the pods of %s: not listed", namespace)
	}
	return w, nil
}

func (w *Witness) sees(object any, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		w.broken = append(w.broken, fmt.Sprintf("the watch has a %T", object))
		return
	}
	if _, known := w.pods[pod.UID]; !known && !gone {
		w.created[Image(pod)]++
	}
	was := w.pods[pod.UID]
	w.pods[pod.UID] = pod
	if gone {
		delete(w.pods, pod.UID)
	} else if w.look != nil {
		if wrong := w.look(w.pods, was, pod); wrong != "" {
			w.broken = append(w.broken, wrong)
		}
	}
	ready := readyByPodClique(slices.Collect(maps.Values(w.pods)))
	for _, floor := range w.floors {
		if count := floor.count(ready); count < floor.least {
			w.broken = append(w.broken,
				fmt.Sprintf("%s: %d, and at least %d should be there at any moment (after %s of %s)", floor.what, count,
					floor.least, pod.Name, Image(pod)))
		}
	}
}

// Guards checks floors from now on, until Kept.
func (w *World) Guards(floors ...Floor) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "the witness sees what is to stay", func(context.Context) (bool, string, error) {
			w.witness.mu.Lock()
			defer w.witness.mu.Unlock()
			ready := readyByPodClique(slices.Collect(maps.Values(w.witness.pods)))
			for _, floor := range floors {
				if count := floor.count(ready); count < floor.least {
					return false, fmt.Sprintf("%s: %d of %d", floor.what, count, floor.least), nil
				}
			}
			w.witness.floors = floors
			return true, "", nil
		})
		return ctx
	}
}

// Looks has a function look at each change of a pod from now on. It gets all pods, and this one as it was and as it is,
// and says what is wrong.
func (w *World) Looks(look func(pods map[types.UID]*corev1.Pod, was, is *corev1.Pod) string) e2e.StepFunc {
	return func(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
		w.witness.mu.Lock()
		defer w.witness.mu.Unlock()
		w.witness.look = look
		return ctx
	}
}

// Kept checks that no count was below its floor since Guards, and that nothing was wrong since Looks.
func (w *World) Kept(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.witness.mu.Lock()
	defer w.witness.mu.Unlock()
	if len(w.witness.floors) == 0 && w.witness.look == nil {
		t.Error("nothing was guarded")
	}
	if len(w.witness.broken) > 0 {
		t.Errorf("%s\n%s", strings.Join(w.witness.broken, "\n"), w.Report(ctx))
	}
	return ctx
}

// Created checks how many pods of an image ever existed. The witness may hear of them later than a client of the API
// server.
func (w *World) Created(image string, least, most int) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("the witness has seen %d pods of %s", least, image),
			func(context.Context) (bool, string, error) {
				count := w.witness.createdOf(image)
				return count >= least, fmt.Sprintf("it has seen %d", count), nil
			})
		if count := w.witness.createdOf(image); count > most {
			t.Errorf("%d pods of %s were created, not %d to %d\n%s", count, image, least, most, w.Report(ctx))
		}
		return ctx
	}
}

func (w *Witness) createdOf(image string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.created[image]
}

// readyByPodClique counts pods that are ready and not being deleted.
func readyByPodClique(pods []*corev1.Pod) map[string]int {
	ready := map[string]int{}
	for _, pod := range pods {
		if IsReady(pod) && pod.DeletionTimestamp == nil {
			ready[pod.Labels["grove.io/podclique"]]++
		}
	}
	return ready
}

// IsReady is whether a pod says that it is.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// Image of the first container, by which the suite distinguishes templates.
func Image(pod *corev1.Pod) string { return pod.Spec.Containers[0].Image }
