package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/devices"
)

// maxPods is how many pods can be made for one deployment.
const maxPods = 100_000

// validateMade finds what Kubernetes would refuse in the objects that are made for a deployment. Errors about these
// would name fields that the deployment's writer has not written.
func validateMade(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	errs := validateExecutor(deployment.Annotations, field.NewPath("metadata", "annotations"))
	errs = append(errs, validateQueue(deployment.Annotations)...)
	errs = append(errs, validateMetadata(deployment.Spec.Labels, deployment.Spec.Annotations, field.NewPath("spec"))...)
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		template := &component.PodTemplate
		// Its metadata is put together from several maps; each is validated at its own path.
		if !words.v1alpha1 {
			errs = append(errs, validateMetadata(template.Labels, template.Annotations,
				words.component(i).Child("podTemplate", "metadata"))...)
		}
		if hosts := names.Hosts(deployment); names.Selector(deployment, component) == hosts {
			errs = append(errs, field.Invalid(words.component(i).Child("name"), component.Name,
				fmt.Sprintf("the pods' host names stand under a Service %s already: rename it", hosts)))
		}
		if at := slices.IndexFunc(template.Spec.Containers, isMain); at >= 0 {
			errs = append(errs, validateRequests(template.Spec.Containers[at].Resources,
				words.requests(i, component))...)
		}
		if template.Spec.NodeName != "" {
			errs = append(errs, field.Forbidden(words.podSpec(i).Child("nodeName"),
				"the scheduler chooses the node: use nodeSelector or affinity"))
		}
		if len(template.Spec.TopologySpreadConstraints) > 0 {
			errs = append(errs, field.Forbidden(words.podSpec(i).Child("topologySpreadConstraints"),
				"they contradict packing: use topologyConstraint and topologySpread"))
		}
	}
	errs = append(errs, validateNodeNames(deployment.Spec.Components, words)...)
	return append(errs, validateSize(deployment, words)...)
}

// validateSchedulers refuses pods that go to different schedulers: one scheduler places all pods of a gang. A
// deployment that had such pods before stays as it is.
func validateSchedulers(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	var errs field.ErrorList
	var first string
	for i := range deployment.Spec.Components {
		for _, role := range []string{v1beta1.RoleLeader, v1beta1.RoleWorker} {
			component, err := pods.OfRole(&deployment.Spec.Components[i], role)
			if err != nil {
				continue // That is an error of its own.
			}
			own := cmp.Or(component.PodTemplate.Spec.SchedulerName, pods.Scheduler)
			first = cmp.Or(first, own)
			if own != first {
				errs = append(errs, field.Invalid(words.podSpec(i).Child("schedulerName"), own, fmt.Sprintf(
					"all pods of a deployment are placed by one scheduler, and those of %s %s are by %s: name "+
						"the same one",
					words.part, deployment.Spec.Components[0].Name, first)))
				break
			}
		}
	}
	return errs
}

// validateKept bounds the annotation in which a stored deployment keeps the fields that only v1alpha1 has.
func validateKept(annotations map[string]string) field.ErrorList {
	if apivalidation.ValidateAnnotationsSize(annotations) == nil {
		return nil
	}
	return field.ErrorList{
		field.Invalid(serviceList, fmt.Sprintf("%d bytes", len(annotations[v1beta1.AnnotationV1Alpha1])), fmt.Sprintf(
			"services and annotations have at most %d bytes together: put scripts into a ConfigMap, "+
				"or write components of v1beta1", apivalidation.TotalAnnotationSizeLimitB))}
}

// validateMetadata validates labels and annotations of pods, each at its key.
func validateMetadata(labels, annotations map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		errs = append(errs, metav1validation.ValidateLabels(map[string]string{key: labels[key]},
			path.Child("labels").Key(key))...)
	}
	path = path.Child("annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		errs = append(errs, apivalidation.ValidateAnnotations(map[string]string{key: annotations[key]},
			path.Key(key))...)
	}
	return append(errs, validateExecutor(annotations, path)...)
}

func validateExecutor(annotations map[string]string, path *field.Path) field.ErrorList {
	known := []string{"mp", "ray"}
	executor, set := annotations[v1beta1.AnnotationVLLMExecutor]
	if !set || slices.Contains(known, executor) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Key(v1beta1.AnnotationVLLMExecutor), executor, known)}
}

// validateRequests refuses requests above their limit, and GPU requests that differ from it: Kubernetes takes no such
// pod.
func validateRequests(amounts corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts.Requests)) {
		request, limit := amounts.Requests[name], amounts.Limits[name]
		_, limited := amounts.Limits[name]
		switch {
		case !limited:
		case devices.Is(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(path.Key(string(name)), request.String(),
				fmt.Sprintf("must equal the limit, which is %s: leave the request out", limit.String())))
		case request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(path.Key(string(name)), request.String(),
				fmt.Sprintf("must be at most the limit, which is %s", limit.String())))
		}
	}
	return errs
}

// validateQueue validates the queue as a label value, which it becomes.
func validateQueue(annotations map[string]string) field.ErrorList {
	var errs field.ErrorList
	queue := annotations[v1beta1.AnnotationQueue]
	for _, reason := range validation.IsValidLabelValue(queue) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(v1beta1.AnnotationQueue), queue,
			reason))
	}
	return errs
}

// validateNodeNames refuses a component if its pods would be named like the leader or the workers of another one.
func validateNodeNames(components []v1beta1.ComponentSpec, words words) field.ErrorList {
	nodes := map[string]string{}
	for i := range components {
		if lower := names.Component(components[i].Name); components[i].Multinode != nil {
			nodes[lower+names.LeaderSuffix] = fmt.Sprintf("the leader of multinode %s %q has", words.part,
				components[i].Name)
			nodes[lower+names.WorkerSuffix] = fmt.Sprintf("the workers of multinode %s %q have", words.part,
				components[i].Name)
		}
	}
	var errs field.ErrorList
	leaders := map[string]string{}
	for i := range components {
		if components[i].Multinode != nil {
			leaders[names.Component(components[i].Name)+names.LeadersSuffix] = components[i].Name
		}
	}
	for i := range components {
		if leading := leaders[names.Component(components[i].Name)]; leading != "" {
			errs = append(errs, field.Invalid(words.component(i).Child("name"), components[i].Name, fmt.Sprintf(
				"the Service of the leaders of multinode %s %q has that name: rename one", words.part, leading)))
		}
		if taken := nodes[names.Component(components[i].Name)]; taken != "" && components[i].Multinode == nil {
			errs = append(errs, field.Invalid(words.component(i).Child("name"), components[i].Name,
				taken+" that name: rename one"))
		}
	}
	return errs
}

// validateSize bounds the pods of a deployment altogether, and names the component that has most.
func validateSize(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	components := deployment.Spec.Components
	var all, most int64
	var largest int
	for i := range components {
		own := podsOf(&components[i])
		if group := names.GroupOf(deployment, components[i].Name); group != nil {
			own *= int64(max(ptr.Deref(group.Replicas, 1), ptr.Deref(group.MinAvailable, 1)))
		}
		all += own
		if own > most {
			most, largest = own, i
		}
	}
	if all <= maxPods {
		return nil
	}
	return field.ErrorList{
		field.Invalid(words.component(largest).Child("replicas"), replicas(&components[largest]), fmt.Sprintf(
			"%d of the deployment's %d pods, and it may have %d; use more than one deployment", most, all, maxPods))}
}

// podsOf counts the pods that a component has as soon as it is switched on. Numbers beyond their own bounds count as 0:
// they have errors of their own.
func podsOf(component *v1beta1.ComponentSpec) int64 {
	nodes, standing := int32(1), max(replicas(component), minimum(component))
	if component.Multinode != nil {
		nodes = component.Multinode.NodeCount
	}
	if nodes > maxNodes || standing > maxReplicas {
		return 0
	}
	return int64(nodes) * int64(standing)
}

func replicas(component *v1beta1.ComponentSpec) int32 {
	if component.Replicas == nil {
		return 1
	}
	return *component.Replicas
}
