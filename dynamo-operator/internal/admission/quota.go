package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/kueue"
)

// validateQuota checks what a deployment asks of Kueue: a queue for its quota, and not a place, which it has from its
// own constraints.
func validateQuota(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	errs := queueErrors(deployment.Labels, field.NewPath("metadata", "labels"))
	errs = append(errs, queueErrors(deployment.Spec.Labels, field.NewPath("spec", "labels"))...)
	whole, parts := constraints(deployment, words)
	if whole.pack != "" || whole.preferred != "" {
		parts = append([]constraint{whole}, parts...)
	}
	if len(parts) == 0 {
		return errs
	}
	errs = append(errs, placedTwice(deployment.Spec.Annotations, field.NewPath("spec", "annotations"), parts[0])...)
	for i := range deployment.Spec.Components {
		path := words.component(i).Child("podTemplate", "metadata", "annotations")
		if words.v1alpha1 {
			path = words.component(i).Child("extraPodMetadata", "annotations")
		}
		errs = append(errs, placedTwice(deployment.Spec.Components[i].PodTemplate.Annotations, path, parts[0])...)
	}
	return errs
}

// QueueKept refuses another queue, by the labels of a deployment: its pods may be counted in one already.
func QueueKept(old, changed map[string]string) field.ErrorList {
	was, counted := old[kueue.LabelQueue]
	is, counts := changed[kueue.LabelQueue]
	if was == is && counted == counts {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "labels").Key(kueue.LabelQueue), recreate)}
}

func queueErrors(labels map[string]string, path *field.Path) field.ErrorList {
	queue, ok := labels[kueue.LabelQueue]
	if !ok {
		return nil
	}
	var errs field.ErrorList
	for _, problem := range kueue.QueueProblems(queue) {
		errs = append(errs, field.Invalid(path.Key(kueue.LabelQueue), queue, "no name of a LocalQueue: "+problem))
	}
	return errs
}

func placedTwice(annotations map[string]string, path *field.Path, ours constraint) field.ErrorList {
	var errs field.ErrorList
	for _, key := range kueue.TopologyAnnotations {
		if _, ok := annotations[key]; ok {
			errs = append(errs, field.Forbidden(path.Key(key),
				fmt.Sprintf("Kueue would choose nodes, and so does %s: keep one of the two", ours.path)))
		}
	}
	return errs
}
