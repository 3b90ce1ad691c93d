package rollout_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/fixture"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/names"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/templatehash"
)

// TestRollouts plays whole updates, with everything that can happen meanwhile in any order, and looks at every deletion
// that the operator makes. The operator's passes are those of the controllers, without their clients.
func TestRollouts(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(outer, t)
		w.settle()
		w.edit(t)
		t.Repeat(map[string]func(*rapid.T){
			"the set's controller":                  w.setPass,
			"a group's controller":                  func(t *rapid.T) { w.groupPass(pick(t, w.groups)) },
			"a PodClique's controller":              func(t *rapid.T) { w.podCliquePass(pick(t, w.podCliques)) },
			"a PodClique's controller, 2":           func(t *rapid.T) { w.podCliquePass(pick(t, w.podCliques)) },
			"the scheduler":                         w.schedule,
			"the kubelet starts a pod":              func(t *rapid.T) { w.report(pick(t, w.pods), true) },
			"the kubelet starts another":            func(t *rapid.T) { w.report(pick(t, w.pods), true) },
			"the kubelet ends a pod":                func(t *rapid.T) { w.vanish(pick(t, w.pods)) },
			"a pod becomes unready":                 func(t *rapid.T) { w.report(pick(t, w.pods), false) },
			"somebody deletes a pod":                func(t *rapid.T) { w.leave(pick(t, w.pods)) },
			"the user edits":                        w.edit,
			"the user scales a PodClique":           w.scalePodClique,
			"the user scales a group":               w.scaleGroup,
			"the user scales the set":               func(t *rapid.T) { w.set.Spec.Replicas = rapid.Int32Range(0, 3).Draw(t, "replicas") },
			"room comes and goes":                   func(t *rapid.T) { w.room = rapid.IntRange(0, 30).Draw(t, "room") },
			"the operator's next write is its last": func(t *rapid.T) { w.lifetime = rapid.IntRange(0, 4).Draw(t, "writes") },
		})
		w.settle()
		w.checkConverged()
	})
}

// world is an API server with one set and what belongs to it.
type world struct {
	t          *rapid.T
	set        *grovev1alpha1.PodCliqueSet
	groups     map[string]*grovev1alpha1.PodCliqueScalingGroup
	podCliques map[string]*grovev1alpha1.PodClique
	pods       map[string]*corev1.Pod
	now        time.Time
	// room is how many pods can stand on nodes.
	room int
	// lifetime is how many more pods the operator deletes before it is killed.
	lifetime int
	edits    int
	// replaced are the pods that the operator took away and that have not come back ready, by PodClique and index.
	replaced map[string]map[string]bool
	// deletions counts those of a pod's index for one edit.
	deletions map[string]int
}

func newWorld(outer *testing.T, t *rapid.T) *world {
	replicas := rapid.Int32Range(1, 3)
	a, b, copies := replicas.Draw(t, "pods of a"), replicas.Draw(t, "pods of b"), replicas.Draw(t, "copies")
	set := fixture.Set(outer, fmt.Sprintf(`
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: %d
  updateStrategy: {type: %s}
  template:
    cliques:
      - {name: a, spec: {replicas: %d, minAvailable: %d, podSpec: {containers: [{name: main, image: "x:0"}]}}}
      - {name: b, spec: {replicas: %d, minAvailable: %d, podSpec: {containers: [{name: main, image: "x:0"}]}}}
      - {name: c, spec: {replicas: 1, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:0"}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b, c], replicas: %d, minAvailable: %d}]
`, replicas.Draw(t, "replicas"), rapid.SampledFrom([]string{"RollingRecreate", "RollingRecreate", "OnDelete"}).Draw(t, "strategy"),
		a, rapid.Int32Range(1, a).Draw(t, "minimum of a"), b, rapid.Int32Range(1, b).Draw(t, "minimum of b"),
		copies, rapid.Int32Range(1, copies).Draw(t, "minimum of g")))
	return &world{
		t: t, set: set, room: 1000, lifetime: 1000, now: time.Unix(1_800_000_000, 0),
		groups:     map[string]*grovev1alpha1.PodCliqueScalingGroup{},
		podCliques: map[string]*grovev1alpha1.PodClique{},
		pods:       map[string]*corev1.Pod{},
		replaced:   map[string]map[string]bool{},
		deletions:  map[string]int{},
	}
}

// pick draws one of the objects that there are; none if there are none.
func pick[T any](t *rapid.T, objects map[string]*T) *T {
	if len(objects) == 0 {
		return nil
	}
	return objects[rapid.SampledFrom(slices.Sorted(maps.Keys(objects))).Draw(t, "object")]
}

func (w *world) edit(t *rapid.T) {
	w.edits++
	cliques := w.set.Spec.Template.Cliques
	clique := &cliques[rapid.IntRange(0, len(cliques)-1).Draw(t, "clique")]
	clique.Spec.PodSpec.Containers[0].Image = fmt.Sprintf("x:%d", rapid.IntRange(0, 2).Draw(t, "version"))
	clique.Annotations = map[string]string{"edit": fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "annotation"))}
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
	decision := rollout.Decide(rollout.Situation{
		Strategy: rollout.StrategyOf(w.set), Before: w.set.Status.UpdateProgress, Now: w.now, States: objects.States, Surplus: objects.Surplus,
		Changed: w.set.Status.CurrentGenerationHash != nil && !templatehash.SetUnchanged(*w.set.Status.CurrentGenerationHash, w.set),
		Observe: func(replica int32) rollout.Replica { return objects.Replica(replica, w.podsOf(replica)) },
	})
	standalone := maps.Clone(w.podCliques)
	maps.DeleteFunc(standalone, func(_ string, p *grovev1alpha1.PodClique) bool {
		return p.Labels[grovev1alpha1.LabelPodCliqueScalingGroup] != ""
	})
	w.set.Status = status.OfSet(w.set, status.Observed{PodCliques: standalone, ScalingGroups: w.groups, Update: decision.Progress}, nil)
	w.checkDecision(decision)
	for _, pod := range decision.Delete {
		if w.lifetime == 0 {
			w.lifetime = 1000 // Another one takes over.
			return
		}
		w.lifetime--
		w.replace(pod)
	}
}

func (w *world) applyChildren() {
	kept := map[string]bool{}
	config := &w.set.Spec.Template.PodCliqueScalingGroups[0]
	for replica := range w.set.Spec.Replicas {
		for _, member := range layout.Standalone(w.set, replica) {
			w.applyPodClique(children.PodClique(w.set, member, nil), member)
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

func (w *world) applyPodClique(desired *grovev1alpha1.PodClique, member layout.Member) {
	live := w.podCliques[desired.Name]
	children.KeepHash(desired, live, w.set, member)
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
	maps.DeleteFunc(w.pods, func(_ string, pod *corev1.Pod) bool { return pod.Labels[grovev1alpha1.LabelPodClique] == name })
}

func (w *world) groupPass(group *grovev1alpha1.PodCliqueScalingGroup) {
	if group == nil {
		return
	}
	config := &w.set.Spec.Template.PodCliqueScalingGroups[0]
	replica, _ := layout.ReplicaOf(group)
	kept := map[string]bool{}
	for copyIndex := range group.Spec.Replicas {
		for _, member := range layout.Copy(w.set, replica, config, copyIndex) {
			kept[member.Name] = true
			w.applyPodClique(children.PodClique(w.set, member, group), member)
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
	group.Status = status.OfScalingGroup(group, members, rollout.UpdateOf(w.set, replica, w.now))
}

func (w *world) podCliquePass(podClique *grovev1alpha1.PodClique) {
	if podClique == nil {
		return
	}
	member, ok := layout.Find(w.set, podClique)
	if !ok {
		return
	}
	plan := pods.Decide(podClique, w.podsWith(podClique.Name), w.now)
	maker := pods.Maker{Set: w.set, Member: member, PodClique: podClique}
	for _, addition := range plan.Create {
		w.pods[addition.Name] = maker.Make(addition.Name, addition.Index)
	}
	for _, pod := range plan.Delete {
		w.leave(pod)
	}
	podClique.Status = status.OfPodClique(podClique, w.podsWith(podClique.Name), "", rollout.UpdateOf(w.set, member.Replica, w.now))
}

func (w *world) podsWith(podClique string) []*corev1.Pod {
	return w.podsThat(func(pod *corev1.Pod) bool { return pod.Labels[grovev1alpha1.LabelPodClique] == podClique })
}

func (w *world) podsOf(replica int32) []*corev1.Pod {
	return w.podsThat(func(pod *corev1.Pod) bool {
		of, _ := layout.ReplicaOf(pod)
		return of == replica
	})
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
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(standing) < w.room {
		pod.Spec.NodeName = "node"
	}
}

func (w *world) report(pod *corev1.Pod, ready bool) {
	if pod == nil || pod.Spec.NodeName == "" {
		return
	}
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

// replace deletes a pod for the operator.
func (w *world) replace(pod *corev1.Pod) {
	podClique, index := pod.Labels[grovev1alpha1.LabelPodClique], pod.Labels[grovev1alpha1.LabelPodIndex]
	if w.replaced[podClique] == nil {
		w.replaced[podClique] = map[string]bool{}
	}
	w.replaced[podClique][index] = true
	key := fmt.Sprintf("%s/%s for edit %d", podClique, index, w.edits)
	if w.deletions[key]++; w.deletions[key] > 1 && w.podCliques[podClique] != nil {
		w.t.Fatalf("%s: replaced twice", key)
	}
	w.leave(pod)
}

// settle lets everybody do their work, with room for all, until nothing changes any more.
func (w *world) settle() {
	w.room, w.lifetime = 1000, 1000
	before := ""
	for range 500 {
		w.setPass(w.t)
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
		after := w.String()
		if after == before {
			return
		}
		before = after
	}
	w.t.Fatalf("no end in sight:\n%s", before)
}

func (w *world) String() string {
	var words strings.Builder
	fmt.Fprintf(&words, "s %s\n", written(w.set.Status))
	for _, name := range slices.Sorted(maps.Keys(w.groups)) {
		fmt.Fprintf(&words, "%s %s\n", name, written(w.groups[name].Status))
	}
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		fmt.Fprintf(&words, "%s %s %s\n", name, w.podCliques[name].Labels[grovev1alpha1.LabelPodTemplateHash], written(w.podCliques[name].Status))
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		fmt.Fprintf(&words, "%s %s ready=%v leaving=%v\n", name, pod.Labels[grovev1alpha1.LabelPodTemplateHash], pods.Ready(pod), pod.DeletionTimestamp != nil)
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

// old tells whether a pod was not made from the template that the set has now.
func (w *world) old(pod *corev1.Pod) bool {
	member, ok := layout.Find(w.set, w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]])
	return ok && pod.Labels[grovev1alpha1.LabelPodTemplateHash] != templatehash.OfClique(w.set, member.Clique)
}

func (w *world) checkConverged() {
	for _, pod := range w.pods {
		if w.old(pod) || !pods.Ready(pod) {
			w.t.Fatalf("pod %s of %s is old (%v) or not ready:\n%s", pod.Name, pod.Labels[grovev1alpha1.LabelPodClique], w.old(pod), w)
		}
	}
	progress := w.set.Status.UpdateProgress
	if progress != nil && (progress.UpdateEndedAt == nil || len(progress.CurrentlyUpdating) > 0 ||
		progress.UpdatedPodCliquesCount != progress.TotalPodCliquesCount) {
		w.t.Fatalf("the update has not ended: %+v", progress)
	}
	for _, podClique := range w.podCliques {
		if progress := podClique.Status.UpdateProgress; progress != nil && progress.UpdateEndedAt == nil {
			w.t.Fatalf("the update of %s has not ended: %+v", podClique.Name, progress)
		}
	}
	for _, group := range w.groups {
		if progress := group.Status.UpdateProgress; progress != nil && progress.UpdateEndedAt == nil {
			w.t.Fatalf("the update of %s has not ended: %+v", group.Name, progress)
		}
	}
	if w.set.Status.UpdatedReplicas != w.set.Spec.Replicas {
		w.t.Fatalf("%d of %d replicas are updated", w.set.Status.UpdatedReplicas, w.set.Spec.Replicas)
	}
}

// checkDecision looks at what the operator is about to delete, before it does.
func (w *world) checkDecision(decision rollout.Decision) {
	if len(decision.Delete) == 0 {
		return
	}
	turns := w.set.Status.UpdateProgress.CurrentlyUpdating
	if rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete || len(turns) != 1 || turns[0].ReplicaIndex != decision.Replica {
		w.t.Fatalf("pods of replica %d are replaced, and the turns are %v", decision.Replica, turns)
	}
	for _, name := range w.notBack() {
		if replica, _ := layout.ReplicaOf(w.podCliques[name]); replica != decision.Replica {
			w.t.Fatalf("pods of replica %d are replaced while pods of %s are not back", decision.Replica, name)
		}
	}
	units := map[string]bool{}
	for _, pod := range decision.Delete {
		podClique := w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]]
		replica, _ := layout.ReplicaOf(pod)
		if replica != decision.Replica || !w.old(pod) {
			w.t.Fatalf("pod %s of replica %d, old: %v, is replaced", pod.Name, replica, w.old(pod))
		}
		member, _ := layout.Find(w.set, podClique)
		if podClique.Labels[grovev1alpha1.LabelPodTemplateHash] != templatehash.OfClique(w.set, member.Clique) {
			w.t.Fatalf("pod %s is replaced before its PodClique has the new template", pod.Name)
		}
		if unit := w.serving(pod, podClique); unit != "" {
			units[unit] = true
		}
	}
	w.checkServing(units, decision.Replica)
}

// serving names the ready pod, or the available copy of a group, that a deletion takes away; empty if it takes none.
func (w *world) serving(pod *corev1.Pod, podClique *grovev1alpha1.PodClique) string {
	copyIndex, inGroup := layout.CopyOf(podClique)
	switch {
	case !pods.Ready(pod):
		return ""
	case !inGroup:
		return pod.Name
	}
	group := w.groups[podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]]
	if w.copyAvailable(group, copyIndex) {
		return fmt.Sprintf("%s/%d", group.Name, copyIndex)
	}
	return ""
}

func (w *world) copyAvailable(group *grovev1alpha1.PodCliqueScalingGroup, copyIndex int32) bool {
	replica, _ := layout.ReplicaOf(group)
	for _, member := range layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex) {
		podClique := w.podCliques[member.Name]
		if podClique == nil || w.ready(member.Name) < int(status.Minimum(podClique)) {
			return false
		}
	}
	return true
}

func (w *world) ready(podClique string) int {
	return len(w.podsThat(func(pod *corev1.Pod) bool {
		return pod.Labels[grovev1alpha1.LabelPodClique] == podClique && pods.Active(pod) && pods.Ready(pod)
	}))
}

// notBack are the PodCliques that once had their minimum, and lack ready pods that the operator took away.
func (w *world) notBack() []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w.replaced)) {
		podClique := w.podCliques[name]
		if len(w.replaced[name]) > 0 && w.wanted(podClique) && podClique.Status.ReachedMinAvailable && w.ready(name) < int(podClique.Spec.Replicas) {
			missing = append(missing, name)
		}
	}
	return missing
}

// wanted tells whether nobody has scaled a PodClique away.
func (w *world) wanted(podClique *grovev1alpha1.PodClique) bool {
	if podClique == nil {
		return false
	}
	replica, _ := layout.ReplicaOf(podClique)
	copyIndex, inGroup := layout.CopyOf(podClique)
	group := w.groups[podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]]
	return replica < w.set.Spec.Replicas && (!inGroup || group != nil && copyIndex < group.Spec.Replicas)
}

// checkServing: one thing that serves goes at a time, when nothing else is on its way back, and minima are kept where
// there is anything to spare.
func (w *world) checkServing(units map[string]bool, replica int32) {
	if len(units) == 0 {
		return
	}
	if len(units) > 1 {
		w.t.Fatalf("%v are replaced at once", slices.Sorted(maps.Keys(units)))
	}
	if missing := w.notBack(); len(missing) > 0 {
		w.t.Fatalf("%v is replaced while pods of %v are not back", units, missing)
	}
	for _, member := range layout.Standalone(w.set, replica) {
		w.checkMinimum(member.Name, units)
	}
	group := w.groups[names.ScalingGroup(w.set.Name, replica, "g")]
	available := 0
	for copyIndex := range group.Spec.Replicas {
		if w.copyAvailable(group, copyIndex) && !units[fmt.Sprintf("%s/%d", group.Name, copyIndex)] {
			available++
		}
	}
	if least := min(status.GroupMinimum(group), group.Spec.Replicas-1-w.neverStood(group)); available < int(least) {
		w.t.Fatalf("%s is left with %d copies, %d are needed", group.Name, available, least)
	}
}

func (w *world) checkMinimum(name string, units map[string]bool) {
	podClique := w.podCliques[name]
	left := w.ready(name)
	for _, pod := range w.podsWith(name) {
		if units[pod.Name] {
			left--
		}
	}
	if least := min(status.Minimum(podClique), podClique.Spec.Replicas-1); podClique.Status.ReachedMinAvailable && left < int(least) {
		w.t.Fatalf("%s is left with %d ready pods, %d are needed", name, left, least)
	}
}

// neverStood counts the copies that wait for room that they never had.
func (w *world) neverStood(group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	replica, _ := layout.ReplicaOf(group)
	var count int32
	for copyIndex := range group.Spec.Replicas {
		members := layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex)
		if slices.ContainsFunc(members, func(member layout.Member) bool {
			podClique := w.podCliques[member.Name]
			return podClique != nil && !podClique.Status.ReachedMinAvailable
		}) {
			count++
		}
	}
	return count
}
