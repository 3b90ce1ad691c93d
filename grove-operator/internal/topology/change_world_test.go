package topology_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/topology"
)

const (
	gangName  = "s-0"
	podClique = "s-0-a"
	wanted    = 3
)

var moment = time.Unix(1000, 0)

// underTopology is an annotation that the world's scheduler writes on a pod that it binds. No decision reads it.
const underTopology = "bound-under"

// guards are the measures of the controllers and the scheduler against races. A test switches one off, to see that it
// is needed.
type guards struct {
	// asRead: pods are deleted on the condition that they have not changed since they were read.
	asRead bool
	// past: the gang is read past the cache before gates are removed.
	past bool
	// later: a pod's gate is not removed by the pass that makes the pod.
	later bool
	// agree: gates are removed if pod, gang and set agree.
	agree bool
	// compared: the scheduler compares a pod with its PodGroup, and may have an old PodGroup. Otherwise it has the
	// newest.
	compared bool
}

// history has all states of a part of the API, and how far each reader has seen them. A reader never goes back.
type history[T any] struct {
	states []T
	seen   map[string]int
}

func newHistory[T any](first T) history[T] {
	return history[T]{states: []T{first}, seen: map[string]int{}}
}

func (h *history[T]) live() T              { return h.states[len(h.states)-1] }
func (h *history[T]) write(state T)        { h.states = append(h.states, state) }
func (h *history[T]) read(reader string) T { return h.states[h.seen[reader]] }
func (h *history[T]) catchUp(reader string, steps int) {
	h.seen[reader] = min(h.seen[reader]+steps, len(h.states)-1)
}

// world is one replica of a set with one gang, an API server that decides on each write by itself, and all writers:
// users, the operator's two controllers, which share caches, a scheduler, and a kubelet. Their actions are divided into
// steps, between which anything may happen.
type world struct {
	guards
	choose func(n int) int
	set    history[string]
	gang   history[*schedulerv1alpha1.PodGang]
	pods   history[map[string]*corev1.Pod]
	uids   int
	// running are actors that have begun, by name. Actors of one name take turns.
	running  map[string]func() (struct{}, bool)
	violated string
}

func newWorld(g guards, choose func(n int) int) *world {
	return &world{
		guards: g, choose: choose, set: newHistory("a"), gang: newHistory[*schedulerv1alpha1.PodGang](nil),
		pods: newHistory(map[string]*corev1.Pod{}), running: map[string]func() (struct{}, bool){},
	}
}

// pause is a point at which others may act. It returns false if the actor has died.
type pause = func(struct{}) bool

// step runs one actor to its next pause, or starts it.
func (w *world) step(name string, act func(pause)) {
	next, ok := w.running[name]
	if !ok {
		pull, _ := iter.Pull(iter.Seq[struct{}](act))
		next = pull
		w.running[name] = next
	}
	if _, more := next(); !more {
		delete(w.running, name)
	}
}

// crash ends the operator at any point. The next one begins with the state of the API.
func (w *world) crash() {
	delete(w.running, "podgang")
	delete(w.running, "podclique")
	w.set.catchUp("operator", len(w.set.states))
	w.gang.catchUp("operator", len(w.gang.states))
	w.pods.catchUp("operator", len(w.pods.states))
}

// change writes one pod, or removes it if it is nil.
func (w *world) change(name string, pod *corev1.Pod) {
	state := maps.Clone(w.pods.live())
	delete(state, name)
	if pod != nil {
		pod.ResourceVersion = strconv.Itoa(len(w.pods.states))
		state[name] = pod
	}
	w.pods.write(state)
	under := map[string]bool{}
	for _, pod := range state {
		if pods.Scheduled(pod) && pods.Active(pod) {
			under[pod.Annotations[underTopology]] = true
		}
	}
	if len(under) > 1 && w.violated == "" {
		w.violated = fmt.Sprintf("pods stand on nodes under %v at once", slices.Sorted(maps.Keys(under)))
	}
}

// remove is the API server's answer to a deletion: a pod on a node waits for its kubelet, another one is gone.
func (w *world) remove(name string, uid types.UID, resourceVersion string) (conflict bool) {
	pod := w.pods.live()[name]
	switch {
	case pod == nil || pod.DeletionTimestamp != nil:
		return false
	case pod.UID != uid || resourceVersion != "" && pod.ResourceVersion != resourceVersion:
		return true
	case pods.Scheduled(pod):
		going := pod.DeepCopy()
		// Of now: a pod that its kubelet may still end is not replaced.
		going.DeletionTimestamp = &metav1.Time{Time: moment}
		w.change(name, going)
	default:
		w.change(name, nil)
	}
	return false
}

func sorted(state map[string]*corev1.Pod) []*corev1.Pod {
	var all []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(state)) {
		all = append(all, state[name])
	}
	return all
}

func byName(gang *schedulerv1alpha1.PodGang) map[string]*schedulerv1alpha1.PodGang {
	if gang == nil {
		return nil
	}
	return map[string]*schedulerv1alpha1.PodGang{gangName: gang}
}

// keepGang is a pass of the controller of PodGangs.
func (w *world) keepGang(pause pause) {
	named := w.set.read("operator")
	if !pause(struct{}{}) {
		return
	}
	known := sorted(w.pods.read("operator"))
	if !pause(struct{}{}) {
		return
	}
	cached := w.gang.read("operator")
	decision := topology.DecideChange(named, known, byName(cached))
	if !topology.Settled(named, decision, byName(cached)) {
		if !pause(struct{}{}) {
			return
		}
		decision = topology.DecideChange(named, sorted(w.pods.live()), byName(cached))
		for _, pod := range decision.Outdated {
			if !pause(struct{}{}) {
				return
			}
			resourceVersion := pod.ResourceVersion
			if !w.asRead {
				resourceVersion = ""
			}
			standing := w.pods.live()[pod.Name]
			if w.remove(pod.Name, pod.UID, resourceVersion) {
				return
			}
			if standing != nil && standing.UID == pod.UID && pods.Active(standing) && pods.Scheduled(standing) &&
				w.violated == "" {
				w.violated = "a pod was deleted that stands on a node"
			}
		}
	}
	desired := gang(decision.Topology, topology.Kept(named, decision.Topology), decision.Topology)
	desired.Spec.PodGroups = []schedulerv1alpha1.PodGroup{{Name: podClique, MinReplicas: wanted}}
	for _, pod := range known {
		if pods.Active(pod) && topology.MadeFor(pod, cached) == decision.Topology {
			references := &desired.Spec.PodGroups[0].PodReferences
			*references = append(*references, schedulerv1alpha1.NamespacedName{Name: pod.Name})
		}
	}
	if !pause(struct{}{}) {
		return
	}
	if cached != nil && fmt.Sprint(cached) == fmt.Sprint(desired) {
		return // As package apply does: nothing is written if the cache has it already.
	}
	w.gang.write(desired)
}

// keepPods is a pass of the controller of PodCliques.
func (w *world) keepPods(pause pause) {
	known := sorted(w.pods.read("operator"))
	if !pause(struct{}{}) {
		return
	}
	named := w.set.read("operator")
	owner := &grovev1alpha1.PodClique{}
	owner.Name, owner.UID, owner.Spec.Replicas = podClique, "owner", wanted
	plan := pods.Decide(owner, known, "", moment)
	if plan.Surplus {
		plan = pods.Decide(owner, sorted(w.pods.live()), "", moment)
	}
	for _, pod := range plan.Delete {
		if !pause(struct{}{}) {
			return
		}
		w.remove(pod.Name, pod.UID, "")
	}
	made := topology.ForNewPods(named, w.gang.read("operator"))
	for _, addition := range plan.Create {
		if !pause(struct{}{}) {
			return
		}
		if w.pods.live()[addition.Name] != nil {
			continue
		}
		w.uids++
		created := pod(addition.Name, made, "")
		created.UID = types.UID(strconv.Itoa(w.uids))
		created.Labels[grovev1alpha1.LabelPodIndex] = strconv.Itoa(int(addition.Index))
		created.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grovev1alpha1.SchedulingGatePodGangPending}}
		w.change(created.Name, created)
		if !w.later {
			known = append(known, created)
		}
	}
	w.openGates(pause, named, known)
}

func (w *world) openGates(pause pause, named string, known []*corev1.Pod) {
	for _, past := range []bool{false, true} {
		if !pause(struct{}{}) {
			return
		}
		gang := w.gang.read("operator")
		if past && w.past {
			gang = w.gang.live()
		}
		known = slices.DeleteFunc(known, func(pod *corev1.Pod) bool {
			return !pods.Active(pod) || !pods.Gated(pod) || !gangs.GateOpen("", pod.Name, gang, nil) ||
				w.agree && !topology.MayOpenGate(pod, named, gang)
		})
	}
	for _, gated := range known {
		if !pause(struct{}{}) {
			return
		}
		if current := w.pods.live()[gated.Name]; current != nil && current.UID == gated.UID {
			opened := current.DeepCopy()
			pods.Ungate(opened)
			w.change(opened.Name, opened)
		}
	}
}

// schedule picks a pod and binds it.
func (w *world) schedule(pause pause) {
	group := w.gang.live()
	if w.compared {
		group = w.gang.read("scheduler")
	}
	if group == nil {
		return
	}
	under := group.Annotations[schedulingv2alpha2.AnnotationPodsTopology]
	candidates := slices.DeleteFunc(sorted(w.pods.read("scheduler")), func(pod *corev1.Pod) bool {
		return pods.Scheduled(pod) || pods.Gated(pod) || !pods.Active(pod) ||
			w.compared && topology.MadeFor(pod, nil) != under
	})
	if len(candidates) == 0 {
		return
	}
	chosen := candidates[w.choose(len(candidates))]
	if !pause(struct{}{}) {
		return
	}
	current := w.pods.live()[chosen.Name]
	if current == nil || current.UID != chosen.UID || !pods.Active(current) || pods.Scheduled(current) {
		return // The API server refuses such a binding.
	}
	bound := current.DeepCopy()
	bound.Spec.NodeName = "node"
	bound.Annotations[underTopology] = under
	w.change(bound.Name, bound)
}

// disturb does the actions of users and kubelets.
func (w *world) disturb() {
	all := sorted(w.pods.live())
	switch w.choose(4) {
	case 0, 1: // Whatever admission says: it reads before the write.
		w.set.write([]string{"a", "b", "c"}[w.choose(3)])
	case 2:
		if len(all) > 0 {
			pod := all[w.choose(len(all))]
			w.remove(pod.Name, pod.UID, "")
		}
	default:
		w.endPods()
	}
}

func (w *world) endPods() {
	for _, pod := range sorted(w.pods.live()) {
		if pod.DeletionTimestamp != nil {
			w.change(pod.Name, nil)
		}
	}
}
