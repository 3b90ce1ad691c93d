package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// validateServices validates the fields that only v1alpha1 has.
func validateServices(deployment *v1alpha1.DynamoGraphDeployment) field.ErrorList {
	var errs field.ErrorList
	for i := range deployment.Spec.Services {
		service := &deployment.Spec.Services[i]
		path := alphaWords.component(i)
		for _, reason := range validation.IsValidLabelValue(service.SubComponentType) {
			errs = append(errs, field.Invalid(path.Child("subComponentType"), service.SubComponentType, reason))
		}
		if service.Resources != nil {
			errs = append(errs, validateAmounts(service.Resources.Requests, path.Child("resources", "requests"))...)
			errs = append(errs, validateAmounts(service.Resources.Limits, path.Child("resources", "limits"))...)
		}
		errs = append(errs, validateMetadata(service.Labels, service.Annotations, path)...)
		if extra := service.ExtraPodMetadata; extra != nil {
			errs = append(errs, validateMetadata(extra.Labels, extra.Annotations, path.Child("extraPodMetadata"))...)
		}
		errs = append(errs, validateEnv(service.Envs, path.Child("envs"))...)
		errs = append(errs, validateMainContainer(service, path.Child("extraPodSpec", "mainContainer"))...)
		errs = append(errs, validateVolumeMounts(service, path.Child("volumeMounts"))...)
		if sidecar := service.FrontendSidecar; sidecar != nil {
			errs = append(errs, validateSidecar(service, sidecar, path.Child("frontendSidecar"))...)
		}
	}
	return errs
}

func validateAmounts(item *v1alpha1.ResourceItem, path *field.Path) field.ErrorList {
	if item == nil {
		return nil
	}
	errs := validateAmount(item.CPU, path.Child("cpu"))
	errs = append(errs, validateAmount(item.Memory, path.Child("memory"))...)
	errs = append(errs, validateCount(item.GPU, path.Child("gpu"))...)
	for _, name := range slices.Sorted(maps.Keys(item.Custom)) {
		errs = append(errs, validateAmount(item.Custom[name], path.Child("custom").Key(name))...)
	}
	return errs
}

func validateAmount(amount string, path *field.Path) field.ErrorList {
	if amount == "" {
		return nil
	}
	quantity, err := resource.ParseQuantity(amount)
	if err != nil || quantity.Sign() < 0 {
		return field.ErrorList{field.Invalid(path, amount, "must be an amount such as 4, 500m or 16Gi")}
	}
	return nil
}

func validateCount(count string, path *field.Path) field.ErrorList {
	if count == "" {
		return nil
	}
	quantity, err := resource.ParseQuantity(count)
	if err != nil || quantity.Sign() < 0 || quantity.MilliValue()%1000 != 0 {
		return field.ErrorList{field.Invalid(path, count, `must be a whole number of GPUs, such as "8"`)}
	}
	return nil
}

func validateVolumeMounts(service *v1alpha1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, mount := range service.VolumeMounts {
		if mount.Name == "" {
			errs = append(errs, field.Required(path.Index(i).Child("name"),
				"the name of a claim, or of a volume of extraPodSpec"))
		}
		if strings.Contains(mount.Name, ".") {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), mount.Name,
				"the volume in the pods would be named like that, and a dot cannot be in it: "+
					"add a volume of another name to extraPodSpec for this claim, and mount that"))
		}
		if !strings.HasPrefix(mount.MountPoint, "/") &&
			(mount.MountPoint != "" || !isTrue(mount.UseAsCompilationCache)) {
			errs = append(errs, field.Invalid(path.Index(i).Child("mountPoint"), mount.MountPoint,
				"must be an absolute path"))
		}
	}
	return errs
}

// validateSidecar validates a container that v1alpha1 describes.
func validateSidecar(
	service *v1alpha1.ServiceSpec, sidecar *v1alpha1.FrontendSidecar, path *field.Path,
) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(sidecar.Image) == "" {
		errs = append(errs, field.Required(path.Child("image"), "the container needs an image"))
	}
	extra := service.ExtraPodSpec
	if extra != nil && extra.PodSpec != nil && pods.Named(extra.Containers, v1beta1.FrontendSidecarContainer) != nil {
		errs = append(errs, field.Forbidden(path,
			"extraPodSpec has a container "+v1beta1.FrontendSidecarContainer+
				" already, which is the name of this one: rename that"))
	}
	return append(errs, validateEnv(sidecar.Envs, path.Child("envs"))...)
}

func validateMainContainer(service *v1alpha1.ServiceSpec, path *field.Path) field.ErrorList {
	if service.ExtraPodSpec == nil || service.ExtraPodSpec.MainContainer == nil {
		return nil
	}
	main := service.ExtraPodSpec.MainContainer
	errs := validateEnv(main.Env, path.Child("env"))
	if main.Name != "" && main.Name != v1beta1.MainContainer {
		errs = append(errs, field.NotSupported(path.Child("name"), main.Name, []string{v1beta1.MainContainer}))
	}
	return errs
}

// gpuWarning warns of a pod that asks for GPUs of one kind and has a limit of another.
func gpuWarning(resources *v1alpha1.Resources) string {
	if resources == nil || resources.Requests == nil || resources.Limits == nil || resources.Requests.GPU == "" ||
		resources.Limits.GPU == "" {
		return ""
	}
	asked, limited := cmp.Or(resources.Requests.GPUType, defaultGPU), cmp.Or(resources.Limits.GPUType, defaultGPU)
	if asked == limited {
		return ""
	}
	return fmt.Sprintf(": counts %s and the limit %s, so that each pod needs both; leave the request out",
		asked, limited)
}

const defaultGPU = "nvidia.com/gpu"

// isTrue is for fields without effect: false asks for what is done anyway.
func isTrue(value *bool) bool {
	return value != nil && *value
}

// serviceWarnings names the fields of v1alpha1 that are accepted and have no effect, or probably not the one that was
// meant.
func serviceWarnings(deployment *v1alpha1.DynamoGraphDeployment) []string {
	var warnings []string
	for i := range deployment.Spec.Services {
		service, path := &deployment.Spec.Services[i], alphaWords.component(i)
		if service.Autoscaling != nil {
			warnings = append(warnings, path.Child("autoscaling").String()+
				": has no effect; set scalingAdapter, and point a HorizontalPodAutoscaler at the "+
				"DynamoGraphDeploymentScalingAdapter")
		}
		if service.Ingress != nil {
			warnings = append(warnings,
				path.Child("ingress").String()+": has no effect; write an Ingress for the service's Service")
		}
		if service.DynamoNamespace != nil {
			warnings = append(warnings,
				path.Child("dynamoNamespace").String()+": has no effect; it is always <namespace>-<name> of "+
					"the deployment")
		}
		if service.ServiceName != "" && service.ServiceName != service.Name {
			warnings = append(
				warnings, path.Child("serviceName").String()+": has no effect; the service is called by its name")
		}
		older := v1beta1.ComponentExperimental{GPUMemoryService: service.GPUMemoryService, Failover: service.Failover,
			Checkpoint: service.Checkpoint}
		warnings = append(warnings, experimentWarnings(&older, path)...)
		if warning := gpuWarning(service.Resources); warning != "" {
			warnings = append(warnings, path.Child("resources", "requests", "gpu").String()+warning)
		}
	}
	return warnings
}
