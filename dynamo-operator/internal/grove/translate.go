// Package grove carries deployments out on Grove: it turns one into a PodCliqueSet and what goes with it, and says what
// the PodCliqueSet's status means for the deployment.
package grove

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Live is what of an earlier translation still stands and has a say in the next one. The zero value is a deployment of
// which nothing exists yet.
type Live struct {
	// PodCliqueSet of the deployment; nil if there is none.
	PodCliqueSet *grovev1alpha1.PodCliqueSet
	// Restarts is the id of the restart that each component's pods are to be made by, by the component's name.
	Restarts map[string]string
}

// Translate returns everything that is to exist for a deployment that admission has let pass, owned by it, in the order
// in which it is to be created. The deployment is not changed.
func Translate(deployment *v1beta1.DynamoGraphDeployment, live Live) []client.Object {
	var objects []client.Object
	objects = append(objects, claims(deployment)...)
	objects = append(objects, discovery(deployment)...)
	set, services := podCliqueSet(deployment, live)
	return append(append(objects, services...), set)
}

func podCliqueSet(deployment *v1beta1.DynamoGraphDeployment, live Live) (client.Object, []client.Object) {
	set := &grovev1alpha1.PodCliqueSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodCliqueSet"},
		ObjectMeta: childMeta(deployment, names.PodCliqueSet(deployment)),
		Spec: grovev1alpha1.PodCliqueSetSpec{
			Replicas: 1,
			Template: grovev1alpha1.PodCliqueSetTemplateSpec{
				PriorityClassName:     deployment.Spec.PriorityClassName,
				HeadlessServiceConfig: &grovev1alpha1.HeadlessServiceConfig{PublishNotReadyAddresses: new(true)},
			},
		},
	}
	template := &set.Spec.Template
	if constraint := deployment.Spec.TopologyConstraint; constraint != nil {
		template.ClusterTopologyName = constraint.ClusterTopologyName
		template.TopologyConstraint = pack(constraint.PackDomain, constraint.PreferredDomain)
	}
	var services []client.Object
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		services = append(services, addComponent(deployment, component, live, template)...)
	}
	return set, services
}

// addComponent adds a component's cliques and scaling group to the template and returns its Service, if it has one.
func addComponent(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, live Live, to *grovev1alpha1.PodCliqueSetTemplateSpec) []client.Object {
	pod := pods.Make(deployment, component)
	if id := live.Restarts[component.Name]; id != "" {
		pod.Annotations[v1beta1.AnnotationRestart] = id
	}
	if component.Multinode == nil {
		to.Cliques = append(to.Cliques, singleNode(component, pod, live))
		return service(deployment, component, &pod, nil)
	}
	cliques, group := multinode(deployment, component, pod, live)
	to.Cliques = append(to.Cliques, cliques...)
	to.PodCliqueScalingGroups = append(to.PodCliqueScalingGroups, group)
	if slices.ContainsFunc(cliques, func(c grovev1alpha1.PodCliqueTemplateSpec) bool { return len(c.Spec.StartsAfter) > 0 }) {
		to.CliqueStartupType = grovev1alpha1.CliqueStartupTypeExplicit
	}
	return service(deployment, component, &pod, map[string]string{v1beta1.LabelMultinodeRole: roleLeader})
}

func singleNode(component *v1beta1.ComponentSpec, pod pods.Template, live Live) grovev1alpha1.PodCliqueTemplateSpec {
	name := names.Component(component.Name)
	replicas := templateReplicas(component, live)
	return grovev1alpha1.PodCliqueTemplateSpec{
		Name:               name,
		Labels:             pod.Labels,
		Annotations:        pod.Annotations,
		TopologyConstraint: componentPack(component),
		Spec: grovev1alpha1.PodCliqueSpec{
			RoleName:     name,
			PodSpec:      pod.Spec,
			Replicas:     replicas,
			MinAvailable: new(minAvailable(component)),
		},
	}
}

const (
	roleLeader = "leader"
	roleWorker = "worker"
)

// multinode makes a leader and its workers one unit that scales as a whole. Only the unit has the component's
// constraint: on the cliques it would hold the workers together, or each on its own, but not with their leader.
func multinode(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, pod pods.Template, live Live) ([]grovev1alpha1.PodCliqueTemplateSpec, grovev1alpha1.PodCliqueScalingGroupConfig) {
	name := names.Component(component.Name)
	framework := launch.Framework(deployment.Spec.BackendFramework, pod.Main())
	leader := node(deployment, component, framework, pod, true)
	worker := node(deployment, component, framework, pod, false)
	if launch.LeaderStartsLast(framework) {
		leader.Spec.StartsAfter = []string{worker.Name}
	}
	return []grovev1alpha1.PodCliqueTemplateSpec{leader, worker}, grovev1alpha1.PodCliqueScalingGroupConfig{
		Name:               name,
		CliqueNames:        []string{leader.Name, worker.Name},
		Replicas:           new(templateReplicas(component, live)),
		MinAvailable:       new(minAvailable(component)),
		TopologyConstraint: componentPack(component),
	}
}

// node is the clique of a component's leader or of its workers.
func node(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, framework v1beta1.BackendFramework, pod pods.Template, leader bool) grovev1alpha1.PodCliqueTemplateSpec {
	name, role, count := names.Component(component.Name)+names.WorkerSuffix, roleWorker, component.Multinode.NodeCount-1
	if leader {
		name, role, count = names.Component(component.Name)+names.LeaderSuffix, roleLeader, 1
	}
	labels := maps.Clone(pod.Labels)
	labels[v1beta1.LabelMultinodeRole] = role
	own := pods.Template{Spec: *pod.Spec.DeepCopy()}
	launch.Configure(framework, launchNode(deployment, component, leader), &own.Spec, own.Main())
	return grovev1alpha1.PodCliqueTemplateSpec{
		Name:        name,
		Labels:      labels,
		Annotations: maps.Clone(pod.Annotations),
		Spec: grovev1alpha1.PodCliqueSpec{
			RoleName:     name,
			PodSpec:      own.Spec,
			Replicas:     count,
			MinAvailable: new(count),
		},
	}
}

func componentPack(component *v1beta1.ComponentSpec) *grovev1alpha1.TopologyConstraint {
	if component.TopologyConstraint == nil {
		return nil
	}
	return pack(component.TopologyConstraint.PackDomain, component.TopologyConstraint.PreferredDomain)
}

// pack says a constraint in Grove's words; nil for none.
func pack(required, preferred v1beta1.TopologyDomain) *grovev1alpha1.TopologyConstraint {
	switch {
	case required == "" && preferred == "":
		return nil
	case preferred == "":
		return &grovev1alpha1.TopologyConstraint{PackDomain: grovev1alpha1.TopologyDomain(required)}
	default:
		return &grovev1alpha1.TopologyConstraint{Pack: &grovev1alpha1.TopologyPack{
			Required:  grovev1alpha1.TopologyDomain(required),
			Preferred: grovev1alpha1.TopologyDomain(preferred),
		}}
	}
}

// Constrained says whether a deployment has a topology constraint at any level.
func Constrained(deployment *v1beta1.DynamoGraphDeployment) bool {
	if constraint := deployment.Spec.TopologyConstraint; constraint != nil && pack(constraint.PackDomain, constraint.PreferredDomain) != nil {
		return true
	}
	return slices.ContainsFunc(deployment.Spec.Components, func(component v1beta1.ComponentSpec) bool {
		return componentPack(&component) != nil
	})
}

// TopologyName is the ClusterTopology that a deployment's constraints refer to; empty if it has none.
func TopologyName(deployment *v1beta1.DynamoGraphDeployment) string {
	switch constraint := deployment.Spec.TopologyConstraint; {
	case !Constrained(deployment):
		return ""
	case constraint != nil && constraint.ClusterTopologyName != "":
		return constraint.ClusterTopologyName
	default:
		return grovev1alpha1.DefaultClusterTopologyName
	}
}
