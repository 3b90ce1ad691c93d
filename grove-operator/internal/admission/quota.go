package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/layout"
)

var queuePath = field.NewPath("metadata", "labels").Key(kueue.LabelQueue)

// validateQueue checks what a set asks of Kueue: a queue for its quota, and not a place, which a set has from its own
// constraints.
func validateQueue(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	errs := append(validatePlacedOnce(set), validateCountedTogether(set)...)
	queue, ok := set.Labels[kueue.LabelQueue]
	if !ok {
		return errs
	}
	for _, problem := range kueue.QueueProblems(queue) {
		errs = append(errs, field.Invalid(queuePath, queue, "no name of a LocalQueue: "+problem))
	}
	if roles := rolesInBaseGang(set); roles > kueue.MaxRoles {
		errs = append(errs, field.Forbidden(queuePath, fmt.Sprintf(
			"Kueue counts at most %d cliques together, and the base gang has pods of %d", kueue.MaxRoles, roles)))
	}
	return errs
}

// validateCountedTogether refuses a queue of one clique: Kueue would count each of its pods alone, and some would hold
// quota while their gang waits for others. Pods that name a group are counted with it.
func validateCountedTogether(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	for i := range set.Spec.Template.Cliques {
		labels := set.Spec.Template.Cliques[i].Labels
		queue, ok := labels[kueue.LabelQueue]
		if ok && queue != set.Labels[kueue.LabelQueue] && labels[kueue.LabelGroup] == "" {
			errs = append(errs, field.Forbidden(cliquePath(i).Child("labels").Key(kueue.LabelQueue),
				fmt.Sprintf("Kueue would count each pod alone: name the queue of the whole set in %s", queuePath)))
		}
	}
	return errs
}

// rolesInBaseGang is how many cliques have pods in the minimum of a base gang.
func rolesInBaseGang(set *grovev1alpha1.PodCliqueSet) int {
	cliques := sets.New[string]()
	for _, member := range layout.BaseMembers(set, 0) {
		if layout.MinAvailable(&member.Clique.Spec) > 0 {
			cliques.Insert(member.Clique.Name)
		}
	}
	return len(cliques)
}

// validatePlacedOnce refuses a set that asks both Kueue and Packtree for a place.
func validatePlacedOnce(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var ours []*field.Path
	for _, place := range constrained(set) {
		ours = append(ours, place.path)
	}
	for _, spread := range spreadPlaces(set) {
		ours = append(ours, spread.path)
	}
	if len(ours) == 0 {
		return nil
	}
	var errs field.ErrorList
	refuse := func(annotations map[string]string, path *field.Path) {
		for _, key := range kueue.TopologyAnnotations {
			if _, ok := annotations[key]; ok {
				errs = append(errs, field.Forbidden(path.Key(key), fmt.Sprintf(
					"Kueue would choose nodes, and so does %s: keep one of the two", ours[0])))
			}
		}
	}
	refuse(set.Annotations, annotationsPath)
	for i := range set.Spec.Template.Cliques {
		refuse(set.Spec.Template.Cliques[i].Annotations, cliquePath(i).Child("annotations"))
	}
	return errs
}

// validateQueueKept refuses another queue for a set with pods that count in a queue already.
func validateQueueKept(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	was, counted := old.Labels[kueue.LabelQueue]
	is, counts := set.Labels[kueue.LabelQueue]
	if was == is && counted == counts {
		return nil
	}
	return field.ErrorList{field.Forbidden(queuePath, "the queue "+immutable)}
}
