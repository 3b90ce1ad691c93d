package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// words are the names of fields in one version, so that an error names the field that its user wrote.
type words struct {
	// part is the word for a component: "service" or "component".
	part string
	// topology is the name of the field that names the topology.
	topology string
	// claim and directory are the names of the fields of a compilation cache.
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

// requests is the path at which a component's resource requests are usually written.
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

// main is the path of the main container. In v1beta1 the container is one of a list; if it is missing, the path is the
// list's.
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

// cache is the path of the compilation cache. In v1alpha1 the cache is one of the mounts, and the path is the list's.
func (w words) cache(index int) *field.Path {
	if w.v1alpha1 {
		return w.component(index).Child("volumeMounts")
	}
	return w.component(index).Child("compilationCache")
}

// containers is the path of the containers beside main.
func (w words) containers(index int) *field.Path {
	return w.podSpec(index).Child("containers")
}

func specTopology() *field.Path {
	return field.NewPath("spec", "topologyConstraint")
}
