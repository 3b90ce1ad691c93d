package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
)

// leaving is a ready pod of an old template that is being deleted.
func leaving(name string) *corev1.Pod {
	pod := existing("o")[0]
	pod.Name, pod.DeletionTimestamp = name, &metav1.Time{}
	return pod
}

// inPlace is a pod that got another image in place of version 1 and runs a container of a version.
func inPlace(name, version string) *corev1.Pod {
	pod := existing("r")[0]
	pod.Name = name
	pod.Annotations = map[string]string{
		grovev1alpha1.AnnotationFormerContainers: `{"main":{"containerID":"1","image":"x:1"}}`,
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: version}}
	return pod
}

// words summarize a PodClique's update.
func words(progress *grovev1alpha1.PodCliqueUpdateProgress) string {
	if progress == nil {
		return "none"
	}
	said := []string{"to " + progress.PodTemplateHash}
	if selected := progress.ReadyPodsSelectedToUpdate; selected != nil {
		said = append(said, fmt.Sprintf("current %q, completed %v", selected.Current, selected.Completed))
	}
	if progress.UpdateEndedAt != nil {
		said = append(said, "ended")
	}
	return strings.Join(said, ", ")
}

func TestUpdateOfAPodClique(t *testing.T) {
	turn, onDelete, other := status.Update{Turn: true}, status.Update{OnDelete: true}, status.Update{}
	for name, c := range map[string][]struct {
		pods   []*corev1.Pod
		update status.Update
		want   string
	}{
		"a clique that is being created is not updated": {{existing("rs"), other, "none"},
			{existing("rr"), other, "none"}},
		"a clique waits for the turn of its replica": {{existing("oo"), other, "none"},
			{existing("oo"), turn, "to new"}},
		"an update ends when all pods are new and ready": {{existing("or"), turn, "to new"},
			{existing("rs"), turn, "to new"}, {existing("rr"), turn, "to new, ended"}},
		"an update ends with the turn of its replica": {{existing("or"), turn, "to new"},
			{existing("rs"), other, "to new, ended"}},
		"also if a pod cannot come": {{existing("or"), turn, "to new"}, {existing("r"), turn, "to new"},
			{existing("r"), other, "to new, ended"}},
		"a clique without old pods has nothing to update": {{existing("rr"), turn, "none"}},
		"the user's deletions are an update as well": {{existing("oo"), onDelete, "to new"},
			{existing("or"), onDelete, "to new"}, {existing("rs"), onDelete, "to new, ended"}},
		"ready pods are followed on their way out": {
			{existing("oo"), turn, "to new"},
			{append(existing("o"), leaving("p-0")), turn, `to new, current "p-0", completed []`},
			{existing("os"), turn, `to new, current "p-0", completed []`},
			{append(existing("r"), leaving("p-1")), turn, `to new, current "p-1", completed [p-0]`},
			{existing("rr"), turn, "to new, ended"},
		},
		"pods that get other images in place are followed until they run them": {
			{existing("oo"), turn, "to new"},
			{append(existing("o"), inPlace("p-0", "1")), turn, `to new, current "p-0", completed []`},
			{append(existing("o"), inPlace("p-0", "2")), turn, `to new, current "p-0", completed []`},
			{[]*corev1.Pod{inPlace("p-0", "2"), inPlace("p-1", "1")}, turn, `to new, current "p-1", completed [p-0]`},
			{[]*corev1.Pod{inPlace("p-0", "1"), inPlace("p-1", "1")}, turn, `to new, current "p-1", completed [p-0]`},
			{[]*corev1.Pod{inPlace("p-0", "2"), inPlace("p-1", "2")}, turn, "to new, ended"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clique := podClique(2, 1, true)
			for i, step := range c {
				step.update.Now = time.Unix(int64(i), 0)
				clique.Status = status.OfPodClique(clique, step.pods, "", step.update)
				assert.Equal(t, step.want, words(clique.Status.UpdateProgress), "step %d", i)
			}
		})
	}
}

// TestUpdateThatNobodySaw: if a status is not written in time, the moments of an update are missing, and only the last
// counts show it.
func TestUpdateThatNobodySaw(t *testing.T) {
	turn, other := status.Update{Turn: true}, status.Update{}
	type step struct {
		template, pods string
		update         status.Update
		want           string
	}
	for name, steps := range map[string][]step{
		"all pods were replaced and the turn is over": {{"old", "oo", other, "none"},
			{"new", "rr", other, "to new, ended"}},
		"all pods were replaced and are not ready yet": {{"old", "oo", other, "none"}, {"new", "ss", turn, "to new"},
			{"new", "rr", turn, "to new, ended"}},
		"old pods are gone and no new ones have come": {{"old", "oo", other, "none"}, {"new", "", turn, "to new"},
			{"new", "rr", turn, "to new, ended"}},
		"the last old pod was lost before the turn came": {{"old", "oo", other, "none"}, {"new", "or", other, "none"},
			{"new", "rr", other, "to new, ended"}},
		"a template was given up, and came back": {{"old", "oo", other, "none"}, {"new", "oo", turn, "to new"},
			{"old", "oo", other, "to new, ended"}, {"new", "oo", turn, "to new"}},
		"what stays as it is was never updated": {{"old", "oo", other, "none"}, {"old", "o", turn, "none"},
			{"old", "oo", other, "none"}},
		"a template that came to no pod updated none": {{"old", "oo", other, "none"}, {"new", "oo", other, "none"},
			{"old", "oo", other, "none"}},
		"pods that are made for the first time are no update": {{"old", "", other, "none"}, {"new", "r", turn, "none"},
			{"new", "rr", turn, "none"}},
		"what was never complete is not updated by a template that comes back": {
			{"old", "o", other, "none"}, {"new", "o", other, "none"}, {"old", "o", other, "none"},
			{"old", "oo", other, "none"},
		},
		"what was never complete and lost its old pods was updated": {{"old", "o", other, "none"},
			{"new", "r", turn, "to new"}, {"new", "rr", turn, "to new, ended"}},
	} {
		t.Run(name, func(t *testing.T) {
			clique := podClique(2, 1, true)
			for i, step := range steps {
				clique.Labels[grovev1alpha1.LabelPodTemplateHash] = step.template
				clique.Status = status.OfPodClique(clique, existing(step.pods), "", step.update)
				assert.Equal(t, step.want, words(clique.Status.UpdateProgress), "step %d", i)
			}
		})
	}
}

// TestUpdateOfNothing: a PodClique that is scaled to zero has no pods to update, and its pods are made from the new
// template.
func TestUpdateOfNothing(t *testing.T) {
	clique := podClique(0, 1, true)
	clique.Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
	clique.Status = status.OfPodClique(clique, nil, "", status.Update{})
	clique.Labels[grovev1alpha1.LabelPodTemplateHash] = "new"
	for _, pods := range []string{"", "r"} {
		clique.Spec.Replicas = int32(len(pods))
		clique.Status = status.OfPodClique(clique, existing(pods), "", status.Update{Turn: true})
		assert.Equal(t, "none", words(clique.Status.UpdateProgress), "with pods %q", pods)
	}
}

func TestASecondTemplateBeginsAnew(t *testing.T) {
	clique := podClique(2, 1, true)
	clique.Status = status.OfPodClique(clique, existing("or"), "", status.Update{Turn: true, Now: time.Unix(1, 0)})
	clique.Labels[grovev1alpha1.LabelPodTemplateHash] = "newer"
	clique.Status = status.OfPodClique(clique, existing("or"), "", status.Update{Turn: true, Now: time.Unix(2, 0)})
	progress := clique.Status.UpdateProgress
	assert.Equal(t, "newer", progress.PodTemplateHash)
	assert.Equal(t, int64(2), progress.UpdateStartedAt.Unix())
}

// TestTemplateThatAllPodsHave: a template that was given up half-way and comes back is not that of all pods.
func TestTemplateThatAllPodsHave(t *testing.T) {
	clique := podClique(2, 1, true)
	for i, step := range []struct{ template, pods, want string }{
		{"old", "oo", "old"}, {"new", "oo", "old"}, {"new", "or", ""}, {"old", "or", ""}, {"old", "oo", "old"},
		{"old", "o", "old"}, {"old", "r", "new"},
	} {
		clique.Labels[grovev1alpha1.LabelPodTemplateHash] = step.template
		clique.Status = status.OfPodClique(clique, existing(step.pods), "", status.Update{})
		got := ""
		if current := clique.Status.CurrentPodTemplateHash; current != nil {
			got = *current
		}
		assert.Equal(t, step.want, got, "step %d", i)
	}
}

func TestBreachDuringAnUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		pods    string
		reached bool
		update  status.Update
		want    string
	}{
		"is not known while pods are replaced": {"o", true, status.Update{Turn: true}, "Unknown/UpdateInProgress"},
		"is known where the minimum is kept": {"oo", true, status.Update{Turn: true},
			"False/SufficientReadyPods"},
		"is none of what was never available": {"s", false, status.Update{Turn: true}, "False/NeverAvailable"},
		"is a breach in another replica":      {"os", true, status.Update{}, "True/InsufficientReadyPods"},
		"is a breach where the user replaces pods": {"os", true, status.Update{OnDelete: true},
			"True/InsufficientReadyPods"},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.OfPodClique(podClique(2, 2, c.reached), existing(c.pods), "", c.update)
			assert.Contains(t, conditions(got.Conditions), "MinAvailableBreached="+c.want)
		})
	}
}

func TestUpdateOfAScalingGroup(t *testing.T) {
	_, observed, members := world(t)
	group := observed.ScalingGroups["s-0-g"]
	group.Annotations[grovev1alpha1.AnnotationGenerationHash] = "next"
	for _, member := range members {
		member.Annotations[grovev1alpha1.AnnotationGenerationHash] = "next"
		member.Labels[grovev1alpha1.LabelPodTemplateHash] = "next"
	}
	for i, step := range []struct {
		change func()
		update status.Update
		want   string
	}{
		{func() {}, status.Update{}, "none"},
		{func() {}, status.Update{Turn: true}, "updated [], current none, completed []"},
		{func() {
			members[0].Status.Replicas, members[0].Status.ReadyReplicas = 0, 0
			members[0].Status.UpdateProgress = &grovev1alpha1.PodCliqueUpdateProgress{}
		}, status.Update{Turn: true}, "updated [], current 0, completed []"},
		{func() {
			next := "next"
			members[0].Status.Replicas, members[0].Status.ReadyReplicas, members[0].Status.UpdatedReplicas = 1, 1, 1
			members[0].Status.CurrentPodTemplateHash, members[0].Status.CurrentPodCliqueSetGenerationHash = &next, &next
		}, status.Update{Turn: true}, "updated [" + members[0].Name + "], current none, completed [0]"},
		{func() { members[1].Status = *members[0].Status.DeepCopy() }, status.Update{Turn: true},
			"updated [" + members[0].Name + " " + members[1].Name + "], current none, completed [0 1], ended"},
	} {
		step.change()
		step.update.Now = time.Unix(int64(i), 0)
		group.Status = status.OfScalingGroup(group, members, step.update)
		assert.Equal(t, step.want, groupWords(group.Status.UpdateProgress), "step %d", i)
	}
}

// TestUpdateOfAScalingGroupEndsWithTheTurn: a copy may lack a pod that a quota does not let come.
func TestUpdateOfAScalingGroupEndsWithTheTurn(t *testing.T) {
	_, observed, members := world(t)
	group, next := observed.ScalingGroups["s-0-g"], "next"
	group.Annotations[grovev1alpha1.AnnotationGenerationHash] = next
	for _, member := range members {
		member.Labels[grovev1alpha1.LabelPodTemplateHash] = next
	}
	group.Status = status.OfScalingGroup(group, members, status.Update{Turn: true})
	for _, member := range members {
		member.Status.CurrentPodTemplateHash, member.Status.CurrentPodCliqueSetGenerationHash = &next, nil
	}
	for _, c := range []struct {
		turn  bool
		ended bool
	}{{true, false}, {false, true}} {
		group.Status = status.OfScalingGroup(group, members, status.Update{Turn: c.turn})
		got := group.Status.UpdateProgress
		require.NotNil(t, got, "turn %v", c.turn)
		assert.Equal(t, c.ended, got.UpdateEndedAt != nil, "turn %v", c.turn)
	}
}

// TestUpdateOfAScalingGroupThatNobodySaw: its PodCliques show the update, when the turn is over and all pods have been
// replaced.
func TestUpdateOfAScalingGroupThatNobodySaw(t *testing.T) {
	_, observed, members := world(t)
	group := observed.ScalingGroups["s-0-g"]
	next := "next"
	group.Annotations[grovev1alpha1.AnnotationGenerationHash] = next
	for _, member := range members {
		member.Annotations[grovev1alpha1.AnnotationGenerationHash] = next
		member.Status.CurrentPodCliqueSetGenerationHash = &next
	}
	group.Status = status.OfScalingGroup(group, members, status.Update{})
	assert.Equal(t, "none", groupWords(group.Status.UpdateProgress), "a change of other cliques")
	members[1].Status.UpdateProgress = &grovev1alpha1.PodCliqueUpdateProgress{PodCliqueSetGenerationHash: next}
	group.Status = status.OfScalingGroup(group, members, status.Update{})
	want := "updated [" + members[0].Name + " " + members[1].Name + "], current none, completed [0 1], ended"
	assert.Equal(t, want, groupWords(group.Status.UpdateProgress))
}

// TestTemplateThatAllCopiesRun: the result does not depend on whether the group or its PodCliques see a new template
// first.
func TestTemplateThatAllCopiesRun(t *testing.T) {
	groupIs := func(hash string) func(*grovev1alpha1.PodCliqueScalingGroup, []*grovev1alpha1.PodClique) {
		return func(group *grovev1alpha1.PodCliqueScalingGroup, _ []*grovev1alpha1.PodClique) {
			group.Annotations[grovev1alpha1.AnnotationGenerationHash] = hash
		}
	}
	labelled := func(hash string) func(*grovev1alpha1.PodCliqueScalingGroup, []*grovev1alpha1.PodClique) {
		return func(_ *grovev1alpha1.PodCliqueScalingGroup, members []*grovev1alpha1.PodClique) {
			for _, member := range members {
				member.Labels[grovev1alpha1.LabelPodTemplateHash],
					member.Annotations[grovev1alpha1.AnnotationGenerationHash] =
					hash, hash
			}
		}
	}
	runs := func(hash string, indexes ...int) func(*grovev1alpha1.PodCliqueScalingGroup, []*grovev1alpha1.PodClique) {
		return func(_ *grovev1alpha1.PodCliqueScalingGroup, members []*grovev1alpha1.PodClique) {
			for _, i := range indexes {
				members[i].Status.CurrentPodTemplateHash, members[i].Status.CurrentPodCliqueSetGenerationHash = &hash,
					&hash
			}
		}
	}
	scaled := func(replicas int32) func(*grovev1alpha1.PodCliqueScalingGroup, []*grovev1alpha1.PodClique) {
		return func(group *grovev1alpha1.PodCliqueScalingGroup, _ []*grovev1alpha1.PodClique) {
			group.Spec.Replicas = replicas
		}
	}
	type step struct {
		change func(*grovev1alpha1.PodCliqueScalingGroup, []*grovev1alpha1.PodClique)
		want   string
	}
	for name, steps := range map[string][]step{
		"the group first": {{groupIs("b"), "a"}, {labelled("b"), "a"}, {runs("b", 0), ""},
			{runs("b", 1), "b"}},
		"the PodCliques first": {{labelled("b"), "a"}, {groupIs("b"), "a"}, {runs("b", 1), ""},
			{runs("b", 0), "b"}},
		"given up half-way": {{groupIs("b"), "a"}, {labelled("b"), "a"}, {runs("b", 0), ""},
			{labelled("a"), ""}, {groupIs("a"), ""}, {runs("a", 0), "a"}},
		"a copy that is not there runs nothing": {{scaled(3), ""}, {scaled(2), "a"}},
		"a copy that goes does not count":       {{runs("b", 1), ""}, {scaled(1), "a"}},
		"without copies, that of the next copy": {{groupIs("b"), "a"}, {scaled(0), "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, observed, members := world(t)
			group := observed.ScalingGroups["s-0-g"]
			groupIs("a")(group, members)
			labelled("a")(group, members)
			runs("a", 0, 1)(group, members)
			group.Status = status.OfScalingGroup(group, members, status.Update{})
			for i, step := range steps {
				step.change(group, members)
				group.Status = status.OfScalingGroup(group, members, status.Update{})
				got := ""
				if current := group.Status.CurrentPodCliqueSetGenerationHash; current != nil {
					got = *current
				}
				assert.Equal(t, step.want, got, "step %d", i)
			}
		})
	}
}

// TestNewCopiesAreNoUpdate: PodCliques that have never had all their pods run no old template.
func TestNewCopiesAreNoUpdate(t *testing.T) {
	_, observed, members := world(t)
	group := observed.ScalingGroups["s-0-g"]
	for _, copies := range []int32{2, 1, 0} {
		for _, member := range members[copies:] {
			member.Status = grovev1alpha1.PodCliqueStatus{}
		}
		group.Status = status.OfScalingGroup(group, members, status.Update{OnDelete: true})
		assert.Equal(t, "none", groupWords(group.Status.UpdateProgress), "with %d copies that have pods", copies)
	}
}

func groupWords(progress *grovev1alpha1.PodCliqueScalingGroupUpdateProgress) string {
	if progress == nil {
		return "none"
	}
	current, completed := "none", []int32{}
	if selected := progress.ReadyReplicaIndicesSelectedToUpdate; selected != nil {
		completed = append(completed, selected.Completed...)
		if selected.Current != nil {
			current = fmt.Sprint(*selected.Current)
		}
	}
	said := fmt.Sprintf("updated %v, current %s, completed %v", progress.UpdatedPodCliques, current, completed)
	if progress.UpdateEndedAt != nil {
		said += ", ended"
	}
	return said
}
