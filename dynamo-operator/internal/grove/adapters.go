package grove

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Adapter scales one component from outside.
type Adapter = v1alpha1.DynamoGraphDeploymentScalingAdapter

// adapterDefinition is the name of the CustomResourceDefinition of adapters.
const adapterDefinition = "dynamographdeploymentscalingadapters." + v1alpha1.GroupName

const adapterMissing = "scalingAdapter: the kind DynamoGraphDeploymentScalingAdapter is not installed in this " +
	"cluster, so replicas are the deployment's own: " +
	"apply the CRDs of the dynamo-operator chart"

// adapters are those of the components and component groups that ask for one. Each begins with the number in the
// deployment.
func adapters(deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	var made []client.Object
	for _, component := range names.Units(deployment) {
		if component.ScalingAdapter == nil {
			continue
		}
		meta := childMeta(deployment, names.Selector(deployment, component))
		meta.Labels[v1beta1.LabelComponent] = component.Name
		made = append(made, &Adapter{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(),
				Kind: "DynamoGraphDeploymentScalingAdapter"},
			ObjectMeta: meta,
			Spec: v1alpha1.DynamoGraphDeploymentScalingAdapterSpec{
				Replicas: wantedReplicas(component),
				DGDRef:   v1alpha1.DynamoGraphDeploymentServiceRef{Name: deployment.Name, ServiceName: component.Name},
			},
		})
	}
	return made
}

// adapter is the adapter that scales a component; nil if there is none.
func (s Standing) adapter(component *v1beta1.ComponentSpec) *Adapter {
	if component.ScalingAdapter == nil {
		return nil
	}
	return s.Adapters[names.Selector(s.Deployment, component)]
}

// unmade leaves out the adapters that exist, since users and autoscalers set their replicas from then on, and all
// adapters if their kind is not installed. A new adapter takes over a number that was set since the deployment last
// asked for one.
func (s Standing) unmade(objects []client.Object) []client.Object {
	var left []client.Object
	for _, object := range objects {
		adapter, ok := object.(*Adapter)
		if !ok {
			left = append(left, object)
			continue
		}
		if s.NoAdapters || s.Adapters[adapter.Name] != nil {
			continue
		}
		units := names.Units(s.Deployment)
		component := units[slices.IndexFunc(units,
			func(c *v1beta1.ComponentSpec) bool { return c.Name == adapter.Spec.DGDRef.ServiceName })]
		if requested, live := s.requested(component), s.liveReplicas(component); requested != nil && live != nil &&
			*requested == adapter.Spec.Replicas {
			adapter.Spec.Replicas = *live
		}
		left = append(left, adapter)
	}
	return left
}

// requested is the number of replicas that was last asked for; nil if the component has no object to scale.
func (s Standing) requested(component *v1beta1.ComponentSpec) *int32 {
	object := s.scaled(component)
	if object == nil {
		return nil
	}
	requested, made := standingReplicas(component, s.PodCliqueSet)
	if !made {
		return nil
	}
	if written, err := strconv.ParseInt(object.GetAnnotations()[v1beta1.AnnotationRequestedReplicas], 10,
		32); err == nil {
		requested = int32(written)
	}
	return &requested
}

// liveReplicas is the number of replicas in the spec of the object that scales a component; nil if there is no such
// object.
func (s Standing) liveReplicas(component *v1beta1.ComponentSpec) *int32 {
	if clique := s.Cliques[component.Name]; clique != nil {
		return &clique.Spec.Replicas
	}
	if group := s.Groups[component.Name]; group != nil {
		return &group.Spec.Replicas
	}
	return nil
}

// Reports returns the adapters with their new status. A scaling that Scalings returns is reported as done now.
func (s Standing) Reports(now metav1.Time) []backend.Report {
	var reports []backend.Report
	for _, component := range names.Units(s.Deployment) {
		standing := s.adapter(component)
		if standing == nil {
			continue
		}
		next := v1alpha1.DynamoGraphDeploymentScalingAdapterStatus{
			Replicas:      s.stands(component).Replicas,
			Selector:      s.selector(component),
			LastScaleTime: standing.Status.LastScaleTime,
		}
		if s.scalingOf(component) != nil {
			next.LastScaleTime = &now
		}
		reports = append(reports, backend.Report{Adapter: standing, Status: next})
	}
	return reports
}

// selector finds the pods that a unit scales.
func (s Standing) selector(unit *v1beta1.ComponentSpec) string {
	if slices.ContainsFunc(names.Groups(s.Deployment),
		func(group v1beta1.ComponentGroup) bool { return group.Name == unit.Name }) {
		return grovev1alpha1.LabelPodCliqueScalingGroup + "=" + scaledName(s.Deployment, unit)
	}
	return v1beta1.LabelSelector + "=" + names.Selector(s.Deployment, unit)
}

// unwanted are the adapters of components that no longer ask for one.
func (s Standing) unwanted() []client.Object {
	if len(s.Adapters) == 0 {
		return nil
	}
	kept := map[string]bool{}
	for _, object := range adapters(s.Deployment) {
		kept[object.GetName()] = true
	}
	var left []client.Object
	for name, adapter := range s.Adapters {
		if !kept[name] && adapter.DeletionTimestamp == nil {
			left = append(left, adapter)
		}
	}
	return left
}
