package rollout_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// world is an API server with one set and its objects.
type world struct {
	t          *rapid.T
	set        *grovev1alpha1.PodCliqueSet
	groups     map[string]*grovev1alpha1.PodCliqueScalingGroup
	podCliques map[string]*grovev1alpha1.PodClique
	pods       map[string]*corev1.Pod
	now        time.Time
	// room is how many pods have room on nodes.
	room int
	// quota is how many pods the API server takes.
	quota int
	// lifetime is how many more pods the operator deletes before it is killed.
	lifetime int
	edits    int
	// replaced are the pods that the operator deleted and that have no ready successor yet, by PodClique and index.
	// The value is true if the pod was ready.
	replaced map[string]map[string]bool
	// deletions counts those of a pod's index for one edit.
	deletions map[string]int
	history   history
}

func newWorld(outer *testing.T, t *rapid.T) *world {
	replicas := rapid.Int32Range(1, 3)
	a, b, copies := replicas.Draw(t, "pods of a"), replicas.Draw(t, "pods of b"), replicas.Draw(t, "copies")
	surge := rapid.Int32Range(0, 2).Draw(t, "further copies")
	set := fixture.Set(outer, fmt.Sprintf(`
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: %d
  updateStrategy: {type: %s, maxUnavailable: %d}
  template:
    cliques:
      - {name: a, spec: {replicas: %d, minAvailable: %d, podSpec: {containers: [{name: main, image: "x:0"}]}}}
      - {name: b, spec: {replicas: %d, minAvailable: %d, podSpec: {containers: [{name: main, image: "x:0"}]}}}
      - {name: c, spec: {replicas: 1, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:0"}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b, c], replicas: %d, minAvailable: %d, maxUnavailable: %d, maxSurge: %d}]
`, replicas.Draw(t, "replicas"), rapid.SampledFrom([]string{"RollingRecreate", "RollingRecreate", "OnDelete"}).Draw(t, "strategy"),
		replicas.Draw(t, "replicas at a time"),
		a, rapid.Int32Range(1, a).Draw(t, "minimum of a"), b, rapid.Int32Range(1, b).Draw(t, "minimum of b"),
		copies, rapid.Int32Range(1, copies).Draw(t, "minimum of g"),
		rapid.Int32Range(1-min(1, surge), 3).Draw(t, "copies at a time"), surge))
	if rapid.Bool().Draw(t, "in place") {
		set.Annotations = map[string]string{grovev1alpha1.AnnotationImageUpdate: grovev1alpha1.ImageUpdateInPlace}
	}
	return &world{
		t: t, set: set, room: 1000, quota: 1000, lifetime: 1000, now: time.Unix(1_800_000_000, 0),
		groups:     map[string]*grovev1alpha1.PodCliqueScalingGroup{},
		podCliques: map[string]*grovev1alpha1.PodClique{},
		pods:       map[string]*corev1.Pod{},
		replaced:   map[string]map[string]bool{},
		deletions:  map[string]int{},
	}
}

// pick draws one of the objects; nil if there are none.
func pick[T any](t *rapid.T, objects map[string]*T) *T {
	if len(objects) == 0 {
		return nil
	}
	return objects[rapid.SampledFrom(slices.Sorted(maps.Keys(objects))).Draw(t, "object")]
}

// edit changes the template of a clique, or restores an earlier one.
func (w *world) edit(t *rapid.T) {
	w.edits++
	cliques := w.set.Spec.Template.Cliques
	clique := &cliques[rapid.IntRange(0, len(cliques)-1).Draw(t, "clique")]
	version := fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "version"))
	switch rapid.SampledFrom([]string{"all", "all", "image", "metadata", "priority class"}).Draw(t, "what") {
	case "all":
		clique.Spec.PodSpec.Containers[0].Image = "x:" + version
		clique.Labels, clique.Annotations = map[string]string{seen: version}, map[string]string{seen: version}
	case "image":
		clique.Spec.PodSpec.Containers[0].Image = "x:" + version
	case "metadata":
		clique.Labels, clique.Annotations = map[string]string{seen: version}, nil
	case "priority class":
		w.set.Spec.Template.PriorityClassName = "p" + version
	}
	w.remember()
}

func (w *world) switchStrategy(*rapid.T) {
	if rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete {
		w.set.Spec.UpdateStrategy.Type = grovev1alpha1.RollingRecreate
	} else {
		w.set.Spec.UpdateStrategy.Type = grovev1alpha1.OnDelete
	}
	w.reach()
}

func (w *world) switchImageUpdate(*rapid.T) {
	if w.inPlace() {
		w.set.Annotations = nil
	} else {
		w.set.Annotations = map[string]string{grovev1alpha1.AnnotationImageUpdate: grovev1alpha1.ImageUpdateInPlace}
	}
}

func (w *world) scalePodClique(t *rapid.T) {
	if podClique := pick(t, w.podCliques); podClique != nil {
		podClique.Spec.Replicas = rapid.Int32Range(0, 4).Draw(t, "replicas")
		podClique.Generation++
		delete(w.replaced, podClique.Name)
	}
}

func (w *world) scaleGroup(t *rapid.T) {
	if group := pick(t, w.groups); group != nil {
		group.Spec.Replicas = rapid.Int32Range(0, 4).Draw(t, "replicas")
		group.Generation++
	}
}

// setPass is a pass of the set's controller. The operator may end between any two of its writes.
func (w *world) setPass(*rapid.T) {
	w.now = w.now.Add(time.Second)
	w.applyChildren()
	objects := rollout.Of(w.set, w.podCliques, w.groups)
	objects.Pods = map[string][]*corev1.Pod{}
	for name := range w.podCliques {
		objects.Pods[name] = w.podsWith(name)
	}
	decision := objects.InPlace(rollout.Decide(objects.Situation(w.now)))
	standalone := maps.Clone(w.podCliques)
	maps.DeleteFunc(standalone, func(_ string, p *grovev1alpha1.PodClique) bool {
		return p.Labels[grovev1alpha1.LabelPodCliqueScalingGroup] != ""
	})
	w.set.Status = status.OfSet(w.set,
		status.Observed{PodCliques: standalone, ScalingGroups: w.groups, Update: decision.Progress}, nil)
	w.reach()
	w.checkSetCounts()
	w.checkAdded()
	w.checkDecision(decision)
	var writes []func()
	for _, update := range decision.Images {
		writes = append(writes, func() { w.updateImages(update) })
	}
	for _, pod := range decision.Delete {
		writes = append(writes, func() { w.replace(pod) })
	}
	for _, write := range writes {
		if w.lifetime == 0 {
			w.lifetime = 1000 // Another operator takes over.
			return
		}
		w.lifetime--
		write()
	}
}

func (w *world) applyChildren() {
	kept := map[string]bool{}
	config := &w.set.Spec.Template.PodCliqueScalingGroups[0]
	for replica := range w.set.Spec.Replicas {
		for _, member := range layout.Standalone(w.set, replica) {
			w.applyPodClique(member, nil)
			kept[member.Name] = true
		}
		group := children.ScalingGroup(w.set, replica, config)
		group.UID, group.Generation = types.UID(group.Name), 1
		if live := w.groups[group.Name]; live != nil {
			live.Annotations = group.Annotations
		} else {
			w.groups[group.Name] = group
		}
		kept[group.Name] = true
	}
	for name, group := range w.groups {
		if !kept[name] {
			delete(w.groups, name)
			group.Spec.Replicas = 0
			w.groupPass(group)
		}
	}
	for name, podClique := range w.podCliques {
		if podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup] == "" && !kept[name] {
			w.forget(name)
		}
	}
}

func (w *world) applyPodClique(member layout.Member, group *grovev1alpha1.PodCliqueScalingGroup) {
	live := w.podCliques[member.Name]
	desired := children.NextPodClique(w.set, member, group, live, rollout.Reached(w.set, member.Replica))
	if live == nil {
		desired.UID, desired.Generation = types.UID(desired.Name), 1
		w.podCliques[desired.Name] = desired
		return
	}
	live.Labels, live.Annotations = desired.Labels, desired.Annotations
	desired.Spec.Replicas = live.Spec.Replicas
	if live.Spec.PodSpec.Containers[0].Image != desired.Spec.PodSpec.Containers[0].Image {
		live.Spec = desired.Spec
		live.Generation++
	}
}

// forget removes a PodClique with its pods.
func (w *world) forget(name string) {
	delete(w.podCliques, name)
	delete(w.replaced, name)
	delete(w.history.allowed, name)
	delete(w.history.made, name)
	maps.DeleteFunc(w.pods,
		func(_ string, pod *corev1.Pod) bool { return pod.Labels[grovev1alpha1.LabelPodClique] == name })
}

func (w *world) groupPass(group *grovev1alpha1.PodCliqueScalingGroup) {
	if group == nil {
		return
	}
	config := &w.set.Spec.Template.PodCliqueScalingGroups[0]
	replica, _ := layout.ReplicaOf(group)
	kept := map[string]bool{}
	for copyIndex := range rollout.Copies(w.set, group) {
		for _, member := range layout.Copy(w.set, replica, config, copyIndex) {
			kept[member.Name] = true
			w.applyPodClique(member, group)
		}
	}
	var members []*grovev1alpha1.PodClique
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		podClique := w.podCliques[name]
		if podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup] != group.Name {
			continue
		}
		if !kept[name] {
			w.forget(name)
			continue
		}
		members = append(members, podClique)
	}
	update := rollout.UpdateOf(w.set, replica, w.now)
	update.Copies = rollout.Copies(w.set, group)
	group.Status = status.OfScalingGroup(group, members, update)
	if w.groups[group.Name] != nil {
		w.checkGroupCounts(group, replica)
	}
}

func (w *world) podCliquePass(podClique *grovev1alpha1.PodClique) {
	if podClique == nil {
		return
	}
	member, ok := layout.Find(w.set, podClique)
	if !ok {
		return
	}
	plan := pods.Decide(podClique, w.podsWith(podClique.Name), "", w.now)
	if !rollout.Prepared(w.set, member, podClique) {
		plan.Create = nil
	}
	maker := pods.Maker{Set: w.set, Member: member, PodClique: podClique}
	var refused []grovev1alpha1.LastError
	for _, addition := range plan.Create {
		if len(w.pods) >= w.quota {
			refused = []grovev1alpha1.LastError{{Description: "exceeded quota"}}
			break
		}
		w.pods[addition.Name] = maker.Make(addition.Name, addition.Index)
		w.checkMade(w.pods[addition.Name], member)
	}
	for _, pod := range plan.Delete {
		w.leave(pod)
	}
	podClique.Status = status.OfPodClique(podClique, w.podsWith(podClique.Name), "",
		rollout.UpdateOfPodClique(w.set, member, w.now))
	podClique.Status.LastErrors = refused
	w.checkCounts(podClique, member)
	w.checkUpdated(podClique)
}

func (w *world) podsWith(podClique string) []*corev1.Pod {
	return w.podsThat(func(pod *corev1.Pod) bool { return pod.Labels[grovev1alpha1.LabelPodClique] == podClique })
}

func (w *world) podsThat(are func(*corev1.Pod) bool) []*corev1.Pod {
	var found []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if are(w.pods[name]) {
			found = append(found, w.pods[name])
		}
	}
	return found
}

func (w *world) schedule(t *rapid.T) {
	if pod := pick(t, w.pods); pod != nil {
		w.place(pod)
	}
}

func (w *world) place(pod *corev1.Pod) {
	standing := w.podsThat(pods.Scheduled)
	switch {
	case pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil:
	case len(standing) < w.room:
		pod.Spec.NodeName, pod.Status.Conditions = "node", nil
	default:
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable}}
	}
}

// containerOf is the container that a kubelet starts for a pod's image.
func containerOf(pod *corev1.Pod) string {
	return pod.Name + "/" + pod.Spec.Containers[0].Image
}

// startedOf is the container that a kubelet has started; empty before.
func startedOf(pod *corev1.Pod) string {
	for _, container := range pod.Status.ContainerStatuses {
		return container.ContainerID
	}
	return ""
}

func (w *world) report(pod *corev1.Pod, ready bool) {
	if pod == nil || pod.Spec.NodeName == "" {
		return
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: containerOf(pod)}}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if ready {
		condition.Status = corev1.ConditionTrue
		delete(w.replaced[pod.Labels[grovev1alpha1.LabelPodClique]], pod.Labels[grovev1alpha1.LabelPodIndex])
	}
	pod.Status.Conditions = []corev1.PodCondition{condition}
}

func (w *world) leave(pod *corev1.Pod) {
	if pod != nil && pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
}

func (w *world) vanish(pod *corev1.Pod) {
	if pod != nil && pod.DeletionTimestamp != nil {
		delete(w.pods, pod.Name)
	}
}

// updateImages patches a pod for the operator, as the API server does.
func (w *world) updateImages(update pods.ImageUpdate) {
	w.noteReplaced(update.Pod)
	before, err := json.Marshal(update.Pod)
	require.NoError(w.t, err)
	after, err := strategicpatch.StrategicMergePatch(before, update.Patch(), &corev1.Pod{})
	require.NoError(w.t, err)
	patched := &corev1.Pod{}
	require.NoError(w.t, json.Unmarshal(after, patched))
	w.pods[patched.Name] = patched
	w.checkUpdatedInPlace(patched)
}

// replace deletes a pod for the operator.
func (w *world) replace(pod *corev1.Pod) {
	w.noteReplaced(pod)
	w.leave(pod)
}

// noteReplaced records that a pod is replaced, once for an edit.
func (w *world) noteReplaced(pod *corev1.Pod) {
	podClique, index := pod.Labels[grovev1alpha1.LabelPodClique], pod.Labels[grovev1alpha1.LabelPodIndex]
	if w.replaced[podClique] == nil {
		w.replaced[podClique] = map[string]bool{}
	}
	w.replaced[podClique][index] = pods.Ready(pod)
	key := fmt.Sprintf("%s/%s for edit %d", podClique, index, w.edits)
	if w.deletions[key]++; w.deletions[key] > 1 && w.podCliques[podClique] != nil {
		w.t.Fatalf("%s: replaced twice", key)
	}
}

// settle runs all actors, with room for all pods, until nothing changes any more.
func (w *world) settle() {
	w.room, w.quota, w.lifetime = 1000, 1000, 1000
	w.relent()
	before := ""
	for range 500 {
		w.round(w.t)
		after := w.String()
		if after == before {
			return
		}
		before = after
	}
	w.t.Fatalf("no end in sight:\n%s", before)
}

// round runs all actors once.
func (w *world) round(t *rapid.T) {
	w.setPass(t)
	for _, name := range slices.Sorted(maps.Keys(w.groups)) {
		w.groupPass(w.groups[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		w.podCliquePass(w.podCliques[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		w.vanish(pod)
		w.place(pod)
		w.report(pod, true)
		if w.edits > 0 && rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete && w.old(pod) {
			w.leave(pod)
		}
	}
}

func (w *world) String() string {
	var words strings.Builder
	fmt.Fprintf(&words, "s %s\n", written(w.set.Status))
	for _, name := range slices.Sorted(maps.Keys(w.groups)) {
		fmt.Fprintf(&words, "%s %s\n", name, written(w.groups[name].Status))
	}
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		fmt.Fprintf(&words, "%s %s %s\n", name, w.podCliques[name].Labels[grovev1alpha1.LabelPodTemplateHash],
			written(w.podCliques[name].Status))
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		fmt.Fprintf(&words, "%s %s ready=%v leaving=%v\n", name, pod.Labels[grovev1alpha1.LabelPodTemplateHash],
			pods.Ready(pod), pod.DeletionTimestamp != nil)
	}
	return words.String()
}

func written(status any) string {
	text, err := json.Marshal(status)
	if err != nil {
		panic(err) // API types always marshal.
	}
	return string(text)
}

// old reports whether a pod was not made from the set's current template.
func (w *world) old(pod *corev1.Pod) bool {
	member, ok := layout.Find(w.set, w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]])
	return ok && pod.Labels[grovev1alpha1.LabelPodTemplateHash] != podtemplate.HashOfClique(w.set, member.Clique)
}
