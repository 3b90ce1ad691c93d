package admission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// validateServing validates the fields of a component that Dynamo's runtime needs in its pods.
func validateServing(deployment *v1beta1.DynamoGraphDeployment, index int, words words) field.ErrorList {
	component := &deployment.Spec.Components[index]
	at := words.component(index)
	errs := validatePicker(component, index, words)
	errs = append(errs, validateRoles(component, at)...)
	if name := component.FrontendSidecar; name != nil &&
		pods.Named(component.PodTemplate.Spec.Containers, *name) == nil {
		errs = append(errs, noContainer(at.Child("frontendSidecar"), *name, words.containers(index),
			component.PodTemplate.Spec.Containers))
	} else if name != nil && *name == v1beta1.MainContainer {
		errs = append(errs, field.Invalid(at.Child("frontendSidecar"), *name,
			"main is the workload, and the frontend runs beside it: name another container, or set type frontend"))
	}
	if component.DynamoSidecar != nil {
		errs = append(errs, validateDynamoSidecar(component, index, words)...)
	}
	if model := component.ModelRef; model != nil && model.Name == "" {
		errs = append(errs, field.Required(at.Child("modelRef", "name"),
			"the name of the model, as the command has it"))
	}
	if component.CompilationCache != nil {
		errs = append(errs, validateCache(deployment, index, words)...)
	}
	return errs
}

// noContainer says that no container has a name, and which containers there are.
func noContainer(at *field.Path, name string, list *field.Path, containers []corev1.Container) *field.Error {
	var known []string
	for _, container := range containers {
		if container.Name != v1beta1.MainContainer {
			known = append(known, container.Name)
		}
	}
	return field.Invalid(at, name,
		fmt.Sprintf("names no container of %s: add one of that name, or name one of those there are: %s", list,
			listOf(known)))
}

func validateDynamoSidecar(component *v1beta1.ComponentSpec, index int, words words) field.ErrorList {
	at, name := words.component(index).Child("dynamoSidecar"), *component.DynamoSidecar
	list := words.podSpec(index).Child("initContainers")
	container := pods.Named(component.PodTemplate.Spec.InitContainers, name)
	switch {
	case container == nil:
		return field.ErrorList{noContainer(at, name, list, component.PodTemplate.Spec.InitContainers)}
	case container.RestartPolicy == nil || *container.RestartPolicy != corev1.ContainerRestartPolicyAlways:
		return field.ErrorList{
			field.Invalid(at, name,
				fmt.Sprintf("main would wait for it to end: set restartPolicy Always on container %s of %s", name,
					list)),
		}
	case component.Multinode != nil:
		return field.ErrorList{
			field.Forbidden(at,
				"the flags of several nodes are for a main container that runs Dynamo itself: leave it out, "+
					"or multinode"),
		}
	case !pods.IsWorker(component.Type):
		return field.ErrorList{
			field.Forbidden(at, fmt.Sprintf("it is for types worker, prefill and decode, and this is %q",
				component.Type)),
		}
	default:
		return nil
	}
}

// validateRoles refuses roles that a component does not have.
func validateRoles(component *v1beta1.ComponentSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range component.Roles {
		role, path := &component.Roles[i], at.Child("roles").Index(i)
		wanted := map[string]int32{}
		if component.Multinode != nil {
			wanted = map[string]int32{v1beta1.RoleLeader: 1, v1beta1.RoleWorker: component.Multinode.NodeCount - 1}
		}
		number, known := wanted[role.Name]
		switch {
		case component.Multinode == nil:
			errs = append(errs, field.Forbidden(path,
				"only a component of several nodes has roles: set multinode.nodeCount, or leave the role "+
					"out and write podTemplate"))
		case !known:
			errs = append(errs, field.NotSupported(path.Child("name"), role.Name,
				[]string{v1beta1.RoleLeader, v1beta1.RoleWorker}))
		case seen[role.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), role.Name))
		case role.Replicas != nil && *role.Replicas != number:
			errs = append(errs, field.Invalid(path.Child("replicas"), *role.Replicas,
				fmt.Sprintf("must be %d with %d nodes: leave it out, or change multinode.nodeCount", number,
					component.Multinode.NodeCount)))
		}
		seen[role.Name] = true
	}
	return append(errs, validateRoleTemplates(component, at, seen)...)
}

func validateRoleTemplates(component *v1beta1.ComponentSpec, at *field.Path, named map[string]bool) field.ErrorList {
	if component.Multinode == nil {
		return nil
	}
	var errs field.ErrorList
	for role, older := range map[string]*v1beta1.MultinodeRole{v1beta1.RoleLeader: component.Multinode.Leader,
		v1beta1.RoleWorker: component.Multinode.Worker} {
		if older != nil && named[role] {
			errs = append(errs, field.Forbidden(at.Child("multinode", role), "roles has it too: leave this out"))
		}
		made, err := pods.OfRole(component, role)
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("roles"), role, err.Error()))
		} else if !slices.ContainsFunc(made.PodTemplate.Spec.Containers, isMain) &&
			slices.ContainsFunc(component.PodTemplate.Spec.Containers, isMain) {
			errs = append(errs, field.Required(at.Child("roles"),
				"the pod template of role "+role+" takes the container main away"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

// validateCache requires a directory where the framework's own one is not known.
func validateCache(deployment *v1beta1.DynamoGraphDeployment, index int, words words) field.ErrorList {
	component := &deployment.Spec.Components[index]
	cache, at := component.CompilationCache, words.cache(index)
	switch framework := framework(deployment, component); {
	case cache.PVCName == "":
		return field.ErrorList{
			field.Required(at.Child(words.claim), "the name of a claim, in which the framework keeps what it compiles"),
		}
	case cache.MountPath != "" && !path.IsAbs(cache.MountPath):
		return field.ErrorList{field.Invalid(at.Child(words.directory), cache.MountPath, "must be an absolute path")}
	case cache.MountPath == "" && pods.CompilationCachePath(framework) == "":
		return field.ErrorList{
			field.Required(at.Child(words.directory),
				"only of vLLM it is known where it compiles: set the directory that the command has"),
		}
	default:
		return nil
	}
}

// validatePicker requires one configuration of an endpoint picker, and refuses one for any other type.
func validatePicker(component *v1beta1.ComponentSpec, index int, words words) field.ErrorList {
	at, config := words.component(index).Child("eppConfig"), component.EPPConfig
	switch {
	case component.Type != v1beta1.TypeEPP && config != nil:
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("only type epp has one, and this is %q",
			component.Type))}
	case component.Type != v1beta1.TypeEPP || config == nil && configured(component):
		return nil
	case config == nil || config.ConfigMapRef == nil && config.Config == nil:
		return field.ErrorList{
			field.Required(at,
				"an endpoint picker has no configuration of its own: set configMapRef to the key of a ConfigMap "+
					"that holds an EndpointPickerConfig, or config to one"),
		}
	case config.ConfigMapRef != nil && config.Config != nil:
		return field.ErrorList{
			field.Forbidden(at.Child("config"), "configMapRef is the configuration already: leave one of them out"),
		}
	case config.ConfigMapRef != nil && config.ConfigMapRef.Name == "":
		return field.ErrorList{field.Required(at.Child("configMapRef", "name"), "the name of the ConfigMap")}
	default:
		return nil
	}
}

// configured reports whether the command of an endpoint picker names a configuration.
func configured(component *v1beta1.ComponentSpec) bool {
	main := pods.Named(component.PodTemplate.Spec.Containers, v1beta1.MainContainer)
	if main == nil {
		return true // The missing container is the error to report.
	}
	for _, word := range slices.Concat(main.Command, main.Args) {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if slices.Contains([]string{"config-file", "config-text", "configFile", "configText"}, name) {
			return true
		}
	}
	return false
}

// validateOnePicker refuses a second endpoint picker: the deployment has one pool.
func validateOnePicker(components []v1beta1.ComponentSpec, words words) field.ErrorList {
	var errs field.ErrorList
	first := ""
	for i := range components {
		switch {
		case components[i].Type != v1beta1.TypeEPP:
		case first == "":
			first = components[i].Name
		default:
			errs = append(errs, field.Invalid(words.typeOf(i), v1beta1.TypeEPP,
				fmt.Sprintf("%s %q has that type, and a deployment has one endpoint picker", words.part, first)))
		}
	}
	return errs
}

// validateTransfer requires one source of the level that a policy names, and a weight if the policy is one that takes a
// weight.
func validateTransfer(policy *v1beta1.KVTransferPolicy) field.ErrorList {
	at := field.NewPath("spec", "experimental", "kvTransferPolicy")
	switch {
	case policy == nil:
		return nil
	case policy.Domain == "":
		return field.ErrorList{field.Required(at.Child("domain"), "the name of the level, such as zone or rack")}
	case (policy.LabelKey == "") == (policy.ClusterTopologyName == ""):
		return field.ErrorList{
			field.Required(at.Child("labelKey"),
				"exactly one of labelKey, the node label of the level, and clusterTopologyName"),
		}
	case policy.Enforcement == "preferred" && policy.PreferredWeight == nil:
		return field.ErrorList{
			field.Required(at.Child("preferredWeight"),
				"how much is preferred, from 0 to 1, with enforcement preferred"),
		}
	case policy.Enforcement != "preferred" && policy.PreferredWeight != nil:
		return field.ErrorList{
			field.Forbidden(at.Child("preferredWeight"),
				"only enforcement preferred has a weight: leave it out, or set that"),
		}
	default:
		return nil
	}
}
