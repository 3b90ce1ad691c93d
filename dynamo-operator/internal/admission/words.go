package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// words are how a version calls what both have, so that an error names the field that its user wrote.
type words struct {
	// part is what a component is called: "service" or "component".
	part string
	// topology is the name of the field that names the topology.
	topology string
	// claim and directory are what the fields of a compilation cache are called.
	claim, directory string
	list             *field.Path
	v1alpha1         bool
}

// serviceList is where v1alpha1 has its services.
var serviceList = field.NewPath("spec", "services")

var (
	alphaWords = words{part: "service", topology: "topologyProfile", claim: "name", directory: "mountPoint",
		list: serviceList, v1alpha1: true}
	betaWords = words{part: "component", topology: "clusterTopologyName", claim: "pvcName", directory: "mountPath",
		list: field.NewPath("spec", "components")}
)

func (w words) component(index int) *field.Path {
	return w.list.Index(index)
}

func (w words) typeOf(index int) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("componentType")
	}
	return w.component(index).Child("type")
}

func (w words) sharedMemory(index int) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("sharedMemory", "size")
	}
	return w.component(index).Child("sharedMemorySize")
}

// requests is where what a component asks for is mostly written.
func (w words) requests(index int, component *v1beta1.ComponentSpec) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("resources", "requests")
	}
	return w.main(index, component).Child("resources", "requests")
}

func (w words) podSpec(index int) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("extraPodSpec")
	}
	return w.component(index).Child("podTemplate", "spec")
}

// main is the path of the main container. In v1beta1 that is one of a list, and where it is missing the list.
func (w words) main(index int, component *v1beta1.ComponentSpec) *field.Path {
	if w.v1alpha1 {
		return w.podSpec(index).Child("mainContainer")
	}
	containers := w.podSpec(index).Child("containers")
	for i, container := range component.PodTemplate.Spec.Containers {
		if container.Name == v1beta1.MainContainer {
			return containers.Index(i)
		}
	}
	return containers
}

// cache is where the compilation cache is written: of v1alpha1 the list in which one mount is that.
func (w words) cache(index int) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("volumeMounts")
	}
	return w.component(index).Child("compilationCache")
}

// containers is where the containers beside main are written.
func (w words) containers(index int) *field.Path {
	return w.podSpec(index).Child("containers")
}

func specTopology() *field.Path {
	return field.NewPath("spec", "topologyConstraint")
}
