// Package conversion turns DynamoGraphDeployments of one version into the other without loss.
//
// Both versions can express everything that matters to a pod, but not in the same words: v1alpha1 has short fields
// beside an extra pod spec, v1beta1 has one pod template. Each service or component is therefore converted by its
// meaning. If converting it back would not give the same words, the words are kept in an annotation. On the way back
// they are used only while they still mean the same as the other version, so an edit in either version holds.
package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// ToHub fills hub, the version that is stored, from its v1alpha1 form. It takes services that admission would refuse:
// the API server converts before admission.
func ToHub(from *v1alpha1.DynamoGraphDeployment, hub *v1beta1.DynamoGraphDeployment) error {
	hub.ObjectMeta = *from.ObjectMeta.DeepCopy()
	kept := takeKept[v1beta1.ComponentSpec](&hub.ObjectMeta, v1beta1.AnnotationV1Beta1, componentName)
	spec, status := from.Spec.DeepCopy(), from.Status.DeepCopy()
	hub.Spec = v1beta1.DynamoGraphDeploymentSpec{
		Components:         []v1beta1.ComponentSpec{},
		Env:                spec.Envs,
		PVCs:               pvcsToHub(spec.PVCs),
		BackendFramework:   v1beta1.BackendFramework(spec.BackendFramework),
		Annotations:        spec.Annotations,
		Labels:             spec.Labels,
		PriorityClassName:  spec.PriorityClassName,
		Restart:            restartToHub(spec.Restart),
		TopologyConstraint: specConstraintToHub(spec.TopologyConstraint),
		TopologySpread:     spec.TopologySpread,
		Repair:             spec.Repair,
		ProviderOverride:   spec.ProviderOverride,
		Experimental:       spec.Experimental,
	}
	hub.Status = statusToHub(status)
	var onlyHere []v1alpha1.ServiceSpec
	for i := range spec.Services {
		service := &spec.Services[i]
		component := restoredComponent(service, kept[service.Name])
		hub.Spec.Components = append(hub.Spec.Components, component)
		if !same(*service, asService(component)) {
			onlyHere = append(onlyHere, *service)
		}
	}
	return keep(&hub.ObjectMeta, v1beta1.AnnotationV1Alpha1, onlyHere)
}

// FromHub fills to, the v1alpha1 form, from the version that is stored.
func FromHub(hub *v1beta1.DynamoGraphDeployment, to *v1alpha1.DynamoGraphDeployment) error {
	to.ObjectMeta = *hub.ObjectMeta.DeepCopy()
	kept := takeKept[v1alpha1.ServiceSpec](&to.ObjectMeta, v1beta1.AnnotationV1Alpha1, serviceName)
	spec, status := hub.Spec.DeepCopy(), hub.Status.DeepCopy()
	to.Spec = v1alpha1.DynamoGraphDeploymentSpec{
		Services:           v1alpha1.Services{},
		Envs:               spec.Env,
		PVCs:               pvcsFromHub(spec.PVCs),
		BackendFramework:   v1alpha1.BackendFramework(spec.BackendFramework),
		Annotations:        spec.Annotations,
		Labels:             spec.Labels,
		PriorityClassName:  spec.PriorityClassName,
		Restart:            restartFromHub(spec.Restart),
		TopologyConstraint: specConstraintFromHub(spec.TopologyConstraint),
		TopologySpread:     spec.TopologySpread,
		Repair:             spec.Repair,
		ProviderOverride:   spec.ProviderOverride,
		Experimental:       spec.Experimental,
	}
	to.Status = statusFromHub(status)
	var onlyThere []v1beta1.ComponentSpec
	for i := range spec.Components {
		component := &spec.Components[i]
		service := restoredService(component, kept[component.Name])
		to.Spec.Services = append(to.Spec.Services, service)
		if !same(*component, asComponent(&service)) {
			onlyThere = append(onlyThere, *component)
		}
	}
	return keep(&to.ObjectMeta, v1beta1.AnnotationV1Beta1, onlyThere)
}

// restoredComponent is the component in the words that were kept, as long as they mean the same. Numbers and
// constraints are carried over first: if only they were edited, the other words are not outdated. If they are, a
// frontend that v1alpha1 cannot describe is one nevertheless, as long as its container is there.
func restoredComponent(service *v1alpha1.ServiceSpec, kept *v1beta1.ComponentSpec) v1beta1.ComponentSpec {
	component := asComponent(service)
	if kept == nil {
		return component
	}
	kept.Type, kept.Replicas, kept.MinAvailable = component.Type, component.Replicas, component.MinAvailable
	kept.Multinode, kept.TopologyConstraint, kept.TopologySpread = component.Multinode, component.TopologyConstraint,
		component.TopologySpread
	for _, words := range []v1alpha1.ServiceSpec{*service, asService(component)} {
		if same(asService(*kept), words) {
			return *kept
		}
	}
	if name := kept.FrontendSidecar; component.FrontendSidecar == nil && name != nil && hasContainer(component, *name) {
		component.FrontendSidecar = name
	}
	return component
}

func hasContainer(component v1beta1.ComponentSpec, name string) bool {
	return slices.ContainsFunc(component.PodTemplate.Spec.Containers,
		func(container corev1.Container) bool { return container.Name == name })
}

// restoredService is the counterpart of restoredComponent. If the kept words are outdated, the fields that v1beta1 does
// not have at all are kept nevertheless.
func restoredService(component *v1beta1.ComponentSpec, kept *v1alpha1.ServiceSpec) v1alpha1.ServiceSpec {
	service := asService(*component)
	if kept == nil {
		return service
	}
	if typeOf(kept) != component.Type {
		kept.ComponentType, kept.SubComponentType = service.ComponentType, service.SubComponentType
	}
	kept.Replicas, kept.MinAvailable = service.Replicas, service.MinAvailable
	kept.Multinode, kept.TopologyConstraint, kept.TopologySpread = service.Multinode, service.TopologyConstraint,
		service.TopologySpread
	if same(asComponent(kept), *component) {
		return *kept
	}
	service.Autoscaling, service.Ingress = kept.Autoscaling, kept.Ingress
	service.DynamoNamespace, service.ServiceName = kept.DynamoNamespace, kept.ServiceName
	return service
}

// same compares the meaning of two forms. Fields of any content are compared as they are written: one may come from an
// annotation, in which some characters are escaped.
func same[T any](a, b T) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}

func componentName(component v1beta1.ComponentSpec) string { return component.Name }

func serviceName(service v1alpha1.ServiceSpec) string { return service.Name }

// keep writes the fields that only one version has into an annotation.
func keep[T any](meta *metav1.ObjectMeta, annotation string, values []T) error {
	if len(values) == 0 {
		return nil
	}
	written, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("keeping what only one version can say: %w", err)
	}
	metav1.SetMetaDataAnnotation(meta, annotation, string(written))
	return nil
}

// takeKept removes the annotation and returns its content, by name. If the annotation is unreadable, only words are
// lost and no meaning, so that is no error.
func takeKept[T any](meta *metav1.ObjectMeta, annotation string, name func(T) string) map[string]*T {
	written, ok := meta.Annotations[annotation]
	if !ok {
		return nil
	}
	delete(meta.Annotations, annotation)
	if len(meta.Annotations) == 0 {
		meta.Annotations = nil
	}
	var values []T
	if err := json.Unmarshal([]byte(written), &values); err != nil {
		return nil
	}
	kept := make(map[string]*T, len(values))
	for i := range values {
		kept[name(values[i])] = &values[i]
	}
	return kept
}
