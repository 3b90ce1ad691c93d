package backend

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Observation is what stands of a deployment, in no framework's words.
type Observation struct {
	// Missing says what has to be installed before anything can be made, and how; empty if nothing has.
	Missing string
	// Lacking says what has to be installed before all that the deployment asks for is made, and how; the rest is made meanwhile.
	Lacking string
	// Exists says whether anything was made for the deployment yet.
	Exists bool
	// Current says whether the framework has looked at what was last made; else the rest is about something older.
	Current bool
	// Settled says whether nothing is being replaced.
	Settled bool
	// Ready says whether the framework finds that everything it was given runs. Message is what keeps it from that, where
	// that is more than replicas which wait or are not ready.
	Ready   bool
	Message string
	// Services are the replicas that stand, by the component's name, as far as they have been made.
	Services map[string]v1beta1.ServiceReplicaStatus
	// Wanted is how many replicas each of those is to have, whoever asked for that.
	Wanted map[string]int32
	// Waits says why replicas of a component have no nodes, in the scheduler's words, by the component's name.
	Waits map[string]string
	// Fails says why replicas of a component that have nodes do not get ready by themselves, by the component's name.
	Fails map[string]string
	// Restarted is the id of the restart by which each component's pods are to be made, by the component's name.
	Restarted map[string]string
	// Topology is the name of the cluster's topology that the constraints refer to; empty if there are none.
	Topology string
	// Enforcement says whether the constraints are enforced; nil if there are none.
	Enforcement *Enforcement
	// Placement says how close to the best possible the pods stand; nil as long as nothing was made.
	Placement *v1beta1.PlacementStatus
}

// Enforcement says whether topology constraints are enforced, as a condition does.
type Enforcement struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// AllReady says whether every wanted replica of a component is ready and of the newest template.
func (o Observation) AllReady(component string) bool {
	service, ok := o.Services[component]
	wanted := o.Wanted[component]
	return ok && service.ReadyReplicas >= wanted && service.UpdatedReplicas >= wanted && service.Replicas == wanted
}
