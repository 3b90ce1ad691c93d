package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/repairpolicy"
)

const (
	maxComponents = 25
	maxNameLength = 63

	// The schema of v1beta1 has the same bounds. They are far above what is run in practice, and keep the objects that
	// are made for a deployment, down to the list of a replica's hosts, below the size that can be stored.
	maxNodes    = 1000
	maxReplicas = 10000
)

// validate returns the errors of a deployment by itself, on creation and on each update.
func validate(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	errs := validateName(deployment)
	errs = append(errs, validateComponents(deployment, words)...)
	errs = append(errs, validateGroups(deployment, words)...)
	errs = append(errs, validateTopology(deployment, words)...)
	errs = append(errs, validateSpreads(deployment, words)...)
	errs = append(errs, validateClaims(deployment.Spec.PVCs)...)
	errs = append(errs, validateRestart(deployment, words)...)
	errs = append(errs, validateTransfer(pods.KVTransferPolicyOf(deployment))...)
	errs = append(errs, validateFramework(deployment.Spec.BackendFramework)...)
	errs = append(errs, validateRepair(&deployment.Spec)...)
	errs = append(errs, validateQuota(deployment, words)...)
	return append(errs, validateMade(deployment, words)...)
}

func validateName(deployment *v1beta1.DynamoGraphDeployment) field.ErrorList {
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	for _, reason := range validation.IsDNS1035Label(names.PodCliqueSet(deployment)) {
		errs = append(errs, field.Invalid(path, deployment.Name, "it starts the names of pods and Services: "+reason))
	}
	if deployment.Name == "default" {
		errs = append(errs, field.Invalid(path, deployment.Name,
			"a ServiceAccount is made of this name, and every namespace has one already: choose another name"))
	}
	return errs
}

func validateComponents(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	components := deployment.Spec.Components
	switch {
	case len(components) == 0:
		return field.ErrorList{field.Required(words.list, "a deployment has at least one "+words.part)}
	case len(components) > maxComponents:
		return field.ErrorList{field.TooMany(words.list, len(components), maxComponents)}
	}
	var errs field.ErrorList
	seen := map[string]int{}
	for i := range components {
		component := &components[i]
		errs = append(errs, validateComponentName(deployment, i, words)...)
		lower := names.Component(component.Name)
		if first, ok := seen[lower]; ok {
			errs = append(errs, twiceNamed(words, i, components[first].Name, component.Name))
		} else {
			seen[lower] = i
		}
		errs = append(errs, validateNumbers(component, i, words)...)
		errs = append(errs, validatePod(component, i, words)...)
		errs = append(errs, validateServing(deployment, i, words)...)
	}
	return append(errs, validateOnePicker(components, words)...)
}

func twiceNamed(words words, index int, first, second string) *field.Error {
	path := words.component(index).Child("name")
	if first == second {
		return field.Duplicate(path, second)
	}
	return field.Invalid(path, second,
		fmt.Sprintf("differs from %q only in case, and what is made for them has names in lower case: rename one",
			first))
}

func validateComponentName(deployment *v1beta1.DynamoGraphDeployment, index int, words words) field.ErrorList {
	component := &deployment.Spec.Components[index]
	path := words.component(index).Child("name")
	if component.Name == "" {
		return field.ErrorList{field.Required(path, "every "+words.part+" has a name")}
	}
	var errs field.ErrorList
	for _, reason := range validation.IsDNS1123Label(names.Component(component.Name)) {
		errs = append(errs, field.Invalid(path, component.Name, "in lower case: "+reason))
	}
	if len(component.Name) > maxNameLength {
		return append(errs, field.TooLong(path, component.Name, maxNameLength))
	}
	return append(errs, validateBudget(deployment, component, path, words)...)
}

// validateBudget explains the arithmetic of names: Grove's own error has only the sum.
func validateBudget(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, path *field.Path, words words,
) field.ErrorList {
	taken := names.Taken(deployment, component)
	left := names.Budget - taken
	if len(deployment.Name) <= left || left >= names.Shortest {
		return nil
	}
	length := len(component.Name)
	reason := fmt.Sprintf("too long: pods are named after the deployment and the %s, with %d characters together; "+
		"this name takes %d", words.part, names.Budget, taken)
	longest := names.Budget - names.Shortest
	if component.Multinode != nil && names.GroupOf(deployment, component.Name) == nil {
		reason += fmt.Sprintf(" (%d for the multinode group and %d for its pods)", length,
			length+len(names.WorkerSuffix))
		longest = (names.Budget - names.Shortest - len(names.WorkerSuffix)) / 2
	}
	return field.ErrorList{field.Invalid(path, component.Name,
		fmt.Sprintf("%s and leaves %d for the deployment; use at most %d characters", reason, max(left, 0), longest))}
}

func validateNumbers(component *v1beta1.ComponentSpec, index int, words words) field.ErrorList {
	path := words.component(index)
	replicas, minimum := replicas(component), minimum(component)
	errs := validateBounds(path.Child("replicas"), replicas, 0, maxReplicas, "")
	errs = append(errs, validateBounds(path.Child("minAvailable"), minimum, 1, maxReplicas, "")...)
	if replicas > 0 && minimum > replicas {
		errs = append(errs, field.Invalid(path.Child("replicas"), replicas,
			fmt.Sprintf("must be 0 or at least minAvailable, which is %d", minimum)))
	}
	if component.Multinode != nil {
		errs = append(errs, validateBounds(path.Child("multinode", "nodeCount"),
			component.Multinode.NodeCount, 2, maxNodes, "; leave multinode out for one pod a replica")...)
	}
	if size := component.SharedMemorySize; size != nil && size.Sign() < 0 {
		errs = append(errs, field.Invalid(words.sharedMemory(index), size.String(), "must be 0 or more"))
	}
	return errs
}

// validateBounds says what to do instead if a number is below the least.
func validateBounds(path *field.Path, number, least, most int32, instead string) field.ErrorList {
	switch {
	case number < least:
		return field.ErrorList{field.Invalid(path, number, fmt.Sprintf("must be %d or more%s", least, instead))}
	case number > most:
		return field.ErrorList{field.Invalid(path, number, fmt.Sprintf("must be at most %d", most))}
	default:
		return nil
	}
}

func validatePod(component *v1beta1.ComponentSpec, index int, words words) field.ErrorList {
	var errs field.ErrorList
	for _, reason := range validation.IsValidLabelValue(component.Type) {
		errs = append(errs, field.Invalid(words.typeOf(index), component.Type, reason))
	}
	main := words.main(index, component)
	containers := component.PodTemplate.Spec.Containers
	at := slices.IndexFunc(containers, isMain)
	if at < 0 {
		return append(errs, field.Required(main,
			"one container is named main and does the work of "+words.part+" "+component.Name))
	}
	if strings.TrimSpace(containers[at].Image) == "" {
		errs = append(errs, field.Required(main.Child("image"), fmt.Sprintf("%s %s needs a container image", words.part,
			component.Name)))
	}
	if again := slices.IndexFunc(containers[at+1:], isMain); again >= 0 {
		errs = append(errs, field.Duplicate(words.podSpec(index).Child("containers"), v1beta1.MainContainer))
	}
	// Its environment is put together from several lists; each is validated at its own path.
	if !words.v1alpha1 {
		errs = append(errs, validateEnv(containers[at].Env, main.Child("env"))...)
	}
	return append(errs, validateMounts(component, &containers[at], main.Child("volumeMounts"))...)
}

func isMain(container corev1.Container) bool {
	return container.Name == v1beta1.MainContainer
}

func validateEnv(env []corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, variable := range env {
		if seen[variable.Name] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), variable.Name))
		}
		seen[variable.Name] = true
	}
	return errs
}

func validateMounts(component *v1beta1.ComponentSpec, main *corev1.Container, path *field.Path) field.ErrorList {
	var known []string
	if size := component.SharedMemorySize; size == nil || !size.IsZero() {
		known = append(known, pods.SharedMemoryVolume)
	}
	for _, volume := range component.PodTemplate.Spec.Volumes {
		known = append(known, volume.Name)
	}
	var errs field.ErrorList
	for i, mount := range main.VolumeMounts {
		// A name that no volume has is taken for that of a claim.
		if mount.Name == pods.SharedMemoryVolume && !slices.Contains(known, mount.Name) {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), mount.Name,
				"no volume of the pod; known: "+listOf(known)))
		}
	}
	return errs
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func validateClaims(claims []v1beta1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, claim := range claims {
		path := field.NewPath("spec", "pvcs").Index(i)
		for _, reason := range validation.IsDNS1123Subdomain(claim.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), claim.Name, reason))
		}
		if seen[claim.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), claim.Name))
		}
		seen[claim.Name] = true
		if claim.Create != nil && *claim.Create && (claim.Size == nil || claim.Size.Sign() <= 0) {
			errs = append(errs, field.Required(path.Child("size"),
				"a claim with create: true needs a size above 0, such as 100Gi"))
		}
	}
	return errs
}

func validateRestart(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	restart := deployment.Spec.Restart
	if restart == nil {
		return nil
	}
	path := field.NewPath("spec", "restart")
	var errs field.ErrorList
	if restart.ID == "" {
		errs = append(errs, field.Required(path.Child("id"), "any text that was not used before starts a restart"))
	}
	if restart.Strategy == nil || len(restart.Strategy.Order) == 0 {
		return errs
	}
	order := path.Child("strategy", "order")
	var missing []string
	for _, component := range deployment.Spec.Components {
		if !slices.Contains(restart.Strategy.Order, component.Name) {
			missing = append(missing, component.Name)
		}
	}
	if len(missing) > 0 {
		errs = append(errs, field.Required(order, fmt.Sprintf("names every %s once; missing: %s", words.part,
			strings.Join(missing, ", "))))
	}
	for i, name := range restart.Strategy.Order {
		known := slices.ContainsFunc(deployment.Spec.Components,
			func(c v1beta1.ComponentSpec) bool { return c.Name == name })
		switch {
		case !known:
			errs = append(errs, field.NotFound(order.Index(i), name))
		case slices.Contains(restart.Strategy.Order[:i], name):
			errs = append(errs, field.Duplicate(order.Index(i), name))
		}
	}
	return errs
}

// validateRepair refuses a policy that is wrong, or that contradicts the annotations; both go to the PodCliqueSet.
func validateRepair(spec *v1beta1.DynamoGraphDeploymentSpec) field.ErrorList {
	if spec.Repair == nil {
		return nil
	}
	path := field.NewPath("spec")
	return repairpolicy.Fields(*spec.Repair).Validate(path.Child("repair"), spec.Annotations, path.Child("annotations"))
}

var frameworks = []v1beta1.BackendFramework{
	v1beta1.BackendFrameworkVLLM, v1beta1.BackendFrameworkSGLang, v1beta1.BackendFrameworkTRTLLM,
}

func validateFramework(framework v1beta1.BackendFramework) field.ErrorList {
	if framework == "" || slices.Contains(frameworks, framework) {
		return nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("spec", "backendFramework"), framework, frameworks)}
}
