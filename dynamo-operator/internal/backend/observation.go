package backend

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Observation is the state of a deployment in the cluster, in no framework's words.
type Observation struct {
	// Missing says what has to be installed before anything can be made, and how; empty if nothing is missing.
	Missing string
	// Lacking says what has to be installed before all that the deployment asks for is made, and how; the rest is made
	// meanwhile.
	Lacking string
	// Exists reports whether anything was made for the deployment yet.
	Exists bool
	// Current reports whether the framework has observed the newest objects; else the other fields are about older
	// ones.
	Current bool
	// Settled reports whether no pod is being replaced.
	Settled bool
	// Ready reports whether the framework finds everything ready. Message says why not, if there is another reason than
	// replicas which wait or are not ready.
	Ready   bool
	Message string
	// Services are the replicas that exist, by the component's name; components without objects are left out.
	Services map[string]v1beta1.ServiceReplicaStatus
	// Wanted is how many replicas each component is to have, by the deployment or by what scales it.
	Wanted map[string]int32
	// Waits says why replicas of a component have no nodes, in the scheduler's words, by the component's name.
	Waits map[string]string
	// Fails says why replicas of a component have nodes and do not become ready by themselves, by the component's name.
	Fails map[string]string
	// Restarted is the id of the restart that made each component's pods, by the component's name.
	Restarted map[string]string
	// Topology is the name of the cluster's topology that the constraints refer to; empty if there are none.
	Topology string
	// Enforcement reports whether the constraints are enforced; nil if there are none.
	Enforcement *Enforcement
	// Placement says how close to the best possible placement the pods are; nil as long as nothing was made.
	Placement *v1beta1.PlacementStatus
}

// Enforcement reports whether topology constraints are enforced, as a condition does.
type Enforcement struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// AllReady reports whether every wanted replica of a component is ready and of the newest template.
func (o Observation) AllReady(component string) bool {
	service, ok := o.Services[component]
	wanted := o.Wanted[component]
	return ok && service.ReadyReplicas >= wanted && service.UpdatedReplicas >= wanted && service.Replicas == wanted
}
