package grove

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Standing are the objects of a deployment that exist in the cluster.
type Standing struct {
	Deployment *v1beta1.DynamoGraphDeployment
	// Options of its translation.
	Options Options
	// Version of the operator.
	Version string
	// Uninstalled is set if Grove is not installed.
	Uninstalled bool
	// NoAdapters is set if the kind of scaling adapters is not installed.
	NoAdapters bool
	// PodCliqueSet of the deployment; nil if there is none.
	PodCliqueSet *grovev1alpha1.PodCliqueSet
	// Cliques are the PodCliques of single-node components and Groups the PodCliqueScalingGroups of multinode ones and
	// of component groups, by the name of the component or the group, as far as they exist.
	Cliques map[string]*grovev1alpha1.PodClique
	Groups  map[string]*grovev1alpha1.PodCliqueScalingGroup
	// Services are the Services that were made for the deployment.
	Services []*corev1.Service
	// Adapters are the adapters that were made for the deployment, by name.
	Adapters map[string]*Adapter
}

// scaledName is the name of the PodClique or PodCliqueScalingGroup that scales a component. The PodCliqueSet has one
// replica, with number 0.
func scaledName(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return names.PodCliqueSet(deployment) + "-0-" + names.Component(component.Name)
}

// Objects returns all objects that are to exist. The pods of the given components are made by the restart that the spec
// names.
func (s Standing) Objects(restarted []string) ([]client.Object, error) {
	live := Live{PodCliqueSet: s.PodCliqueSet, Restarts: s.restarts()}
	for _, component := range restarted {
		live.Restarts[component] = s.Deployment.Spec.Restart.ID
	}
	objects, err := Translate(s.Deployment, s.Options, live)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if set, ok := object.(*grovev1alpha1.PodCliqueSet); ok {
			err = s.keepPods(set)
		}
	}
	return s.unmade(objects), err
}

// restarts returns the restart that last made each component's pods.
func (s Standing) restarts() map[string]string {
	made := map[string]string{}
	if s.PodCliqueSet == nil {
		return made
	}
	for _, clique := range s.PodCliqueSet.Spec.Template.Cliques {
		if id := clique.Annotations[v1beta1.AnnotationRestart]; id != "" {
			made[clique.Labels[v1beta1.LabelComponent]] = id
		}
	}
	return made
}

// reasonsOfReplicas are the reasons of a PodCliqueSet that is not ready because replicas of components are not. The
// status reports these component by component.
var reasonsOfReplicas = []string{
	grovev1alpha1.ReasonGangsWaiting, grovev1alpha1.ReasonReplicasMissing, grovev1alpha1.ReasonPodsNotReady,
}

// Observation summarizes the objects, in no words of Grove's.
func (s Standing) Observation() backend.Observation {
	observed := backend.Observation{
		Services:    map[string]v1beta1.ServiceReplicaStatus{},
		Wanted:      map[string]int32{},
		Waits:       map[string]string{},
		Fails:       map[string]string{},
		Restarted:   s.restarts(),
		Topology:    TopologyName(s.Deployment),
		Enforcement: s.enforcement(),
	}
	if s.Uninstalled {
		observed.Missing = missing
	}
	if s.NoAdapters && len(adapters(s.Deployment)) > 0 {
		observed.Lacking = adapterMissing
	}
	for i := range s.Deployment.Spec.Components {
		component := &s.Deployment.Spec.Components[i]
		s.observeComponent(component, &observed)
		unit := names.UnitOf(s.Deployment, component)
		if why := s.waits(unit); why != "" {
			observed.Waits[component.Name] = why
		}
		if why := s.fails(unit); why != "" {
			observed.Fails[component.Name] = why
		}
	}
	set := s.PodCliqueSet
	if set == nil {
		return observed
	}
	observed.Exists = true
	observed.Placement = placement(set.Status)
	observed.Current = set.Status.ObservedGeneration == set.Generation
	progress := set.Status.UpdateProgress
	observed.Settled = progress == nil || progress.UpdateEndedAt != nil
	if ready := meta.FindStatusCondition(set.Status.Conditions, grovev1alpha1.ConditionReady); ready != nil {
		observed.Ready = ready.Status == metav1.ConditionTrue
		if !slices.Contains(reasonsOfReplicas, ready.Reason) {
			observed.Message = ready.Message
		}
	}
	return observed
}

// observeComponent records how many replicas exist of the object that scales a component, which is its group if it has
// one.
func (s Standing) observeComponent(component *v1beta1.ComponentSpec, observed *backend.Observation) {
	unit := names.UnitOf(s.Deployment, component)
	if wanted := s.liveReplicas(unit); wanted != nil {
		observed.Wanted[component.Name] = *wanted
		observed.Services[component.Name] = s.stands(unit)
	}
}

// stands is how many replicas exist of a component that scales by itself; zero if its object does not exist.
func (s Standing) stands(unit *v1beta1.ComponentSpec) v1beta1.ServiceReplicaStatus {
	name := scaledName(s.Deployment, unit)
	if clique := s.Cliques[unit.Name]; clique != nil {
		return v1beta1.ServiceReplicaStatus{
			ComponentKind:     "PodClique",
			ComponentName:     name,
			Replicas:          clique.Status.Replicas,
			ReadyReplicas:     clique.Status.ReadyReplicas,
			ScheduledReplicas: clique.Status.ScheduledReplicas,
			UpdatedReplicas:   clique.Status.UpdatedReplicas,
		}
	}
	if group := s.Groups[unit.Name]; group != nil {
		return v1beta1.ServiceReplicaStatus{
			ComponentKind:     "PodCliqueScalingGroup",
			ComponentName:     name,
			Replicas:          group.Status.Replicas,
			ReadyReplicas:     group.Status.AvailableReplicas,
			ScheduledReplicas: group.Status.ScheduledReplicas,
			UpdatedReplicas:   group.Status.UpdatedReplicas,
		}
	}
	return v1beta1.ServiceReplicaStatus{}
}

// enforcement is Grove's judgement of the levels of the constraints; nil if there are none. The reason alone says that
// the whole topology is gone, whatever the status beside it.
func (s Standing) enforcement() *backend.Enforcement {
	if !Constrained(s.Deployment) {
		return nil
	}
	unknown := &backend.Enforcement{
		Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonTopologyNotYetJudged,
		Message: "it is not known yet whether the cluster's topology has the levels that the constraints need",
	}
	if s.PodCliqueSet == nil {
		unknown.Reason, unknown.Message = v1beta1.ReasonTopologyNotYetApplied,
			"nothing has been created yet for the constraints"
		return unknown
	}
	judged := meta.FindStatusCondition(s.PodCliqueSet.Status.Conditions,
		grovev1alpha1.ConditionTopologyLevelsUnavailable)
	switch {
	case judged == nil:
		return unknown
	case judged.Reason == grovev1alpha1.ReasonClusterTopologyNotFound:
		return &backend.Enforcement{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonTopologyDefinitionNotFound,
			Message: judged.Message}
	case judged.Status == metav1.ConditionTrue:
		return &backend.Enforcement{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonTopologyLevelsUnavailable,
			Message: judged.Message}
	case judged.Status == metav1.ConditionFalse:
		return &backend.Enforcement{
			Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAllTopologyLevelsAvailable,
			Message: "every level that the constraints need is part of the cluster's topology",
		}
	default:
		if judged.Message != "" {
			unknown.Message = judged.Message
		}
		return unknown
	}
}

// Leftovers returns the Services of components that no longer serve a port, and the adapters that the deployment no
// longer asks for. All other objects stay as long as the deployment exists: claims hold data.
func (s Standing) Leftovers(wanted []client.Object) []client.Object {
	kept := map[string]bool{}
	for _, object := range wanted {
		if service, ok := object.(*corev1.Service); ok {
			kept[service.Name] = true
		}
	}
	var left []client.Object
	for _, service := range s.Services {
		if !kept[service.Name] && service.DeletionTimestamp == nil {
			left = append(left, service)
		}
	}
	return append(left, s.unwanted()...)
}

// Scalings are the changes of replicas to make now.
func (s Standing) Scalings() []backend.Scaling {
	if s.PodCliqueSet == nil {
		return nil
	}
	var scalings []backend.Scaling
	for _, unit := range names.Units(s.Deployment) {
		if scaling := s.scalingOf(unit); scaling != nil {
			scalings = append(scalings, *scaling)
		}
	}
	return scalings
}

// scalingOf is the change of a component's replicas to make now; nil if there is none. With an adapter, the adapter's
// number holds, and overwrites any other. Without one, or without the kind of adapters, only a change in the
// deployment counts: the PodCliqueSet's template follows it, but never below the minimum, and a number that another
// writer has set on the live object stays until the deployment itself asks for another one.
func (s Standing) scalingOf(component *v1beta1.ComponentSpec) *backend.Scaling {
	object := s.scaled(component)
	if object == nil {
		return nil
	}
	if component.ScalingAdapter != nil && !s.NoAdapters {
		adapter, live := s.adapter(component), s.liveReplicas(component)
		if adapter == nil || live == nil || adapter.Spec.Replicas == *live {
			return nil
		}
		return &backend.Scaling{Object: object, Replicas: adapter.Spec.Replicas}
	}
	requested, wanted := s.requested(component), wantedReplicas(component)
	if requested == nil || wanted == *requested {
		return nil
	}
	return &backend.Scaling{Object: object, Replicas: wanted}
}

func (s Standing) scaled(component *v1beta1.ComponentSpec) client.Object {
	if clique := s.Cliques[component.Name]; clique != nil {
		return clique
	}
	if group := s.Groups[component.Name]; group != nil {
		return group
	}
	return nil
}
