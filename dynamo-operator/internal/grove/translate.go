// Package grove carries deployments out on Grove: it turns a deployment into a PodCliqueSet and the objects beside it,
// and translates the PodCliqueSet's status back.
package grove

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"
)

// Live is the part of the existing objects that the next translation depends on. The zero value is for a deployment
// without objects.
type Live struct {
	// PodCliqueSet of the deployment; nil if there is none.
	PodCliqueSet *grovev1alpha1.PodCliqueSet
	// Restarts is the id of the restart that is to make each component's pods, by the component's name.
	Restarts map[string]string
}

// Options are the other inputs of a translation.
type Options struct {
	// Infrastructure has the addresses that the pods get.
	Infrastructure pods.Infrastructure
	// Pools reports whether InferencePools can be made.
	Pools bool
	// TransferLevel is the node label of the level that kvTransferPolicy names by a topology; empty if it is not known.
	TransferLevel string
}

// Translate returns all objects that are to exist for a deployment that admission has accepted. They are owned by it,
// in the order in which they are to be created. The deployment is not changed.
func Translate(deployment *v1beta1.DynamoGraphDeployment, options Options, live Live) ([]client.Object, error) {
	deployment = overrides.Folded(deployment)
	picked, err := picker(deployment, options)
	if err != nil {
		return nil, err
	}
	set, services, err := podCliqueSet(deployment, options, live)
	if err != nil {
		return nil, err
	}
	return slices.Concat(claims(deployment), accounts(deployment), picked, services, models(deployment),
		adapters(deployment), []client.Object{set}), nil
}

func podCliqueSet(
	deployment *v1beta1.DynamoGraphDeployment, options Options, live Live,
) (client.Object, []client.Object, error) {
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
	for _, label := range []string{kueue.LabelQueue, kueue.LabelPriorityClass} {
		if value, ok := deployment.Labels[label]; ok {
			set.Labels[label] = value
		}
	}
	template := &set.Spec.Template
	if constraint := deployment.Spec.TopologyConstraint; constraint != nil {
		template.ClusterTopologyName = constraint.ClusterTopologyName
		template.TopologyConstraint = pack(constraint.PackDomain, constraint.PreferredDomain)
	}
	template.TopologySpread = spreads(deployment.Spec.TopologySpread)
	template.Repair = (*grovev1alpha1.RepairPolicy)(deployment.Spec.Repair)
	var made []client.Object
	for i := range deployment.Spec.Components {
		parts, err := partsOf(deployment, &deployment.Spec.Components[i], options, live)
		if err != nil {
			return nil, nil, err
		}
		template.Cliques = append(template.Cliques, parts.cliques...)
		if parts.group != nil {
			template.PodCliqueScalingGroups = append(template.PodCliqueScalingGroups, *parts.group)
		}
		if parts.ordered {
			template.CliqueStartupType = grovev1alpha1.CliqueStartupTypeExplicit
		}
		made = append(made, parts.services...)
	}
	template.PodCliqueScalingGroups = append(template.PodCliqueScalingGroups,
		groups(deployment, template.Cliques, live)...)
	return set, made, nil
}

// parts are the pieces of the PodCliqueSet that a component becomes.
type parts struct {
	cliques []grovev1alpha1.PodCliqueTemplateSpec
	group   *grovev1alpha1.PodCliqueScalingGroupConfig
	// ordered is true if one of the cliques starts after another.
	ordered  bool
	services []client.Object
}

func partsOf(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, options Options, live Live,
) (parts, error) {
	if component.Multinode != nil {
		return multinode(deployment, component, options, live)
	}
	pod := podOf(deployment, component, options, live)
	if pods.IsWorker(component.Type) &&
		launch.Framework(deployment.Spec.BackendFramework, pod.Main()) == v1beta1.BackendFrameworkVLLM {
		launch.ConfigureAlone(pod.Main())
	}
	made := parts{services: services(deployment, component, &pod)}
	clique := singleNode(component, pod)
	switch {
	case names.GroupOf(deployment, component.Name) != nil:
		// A copy of the group needs all replicas of the component, unless the component has a smaller minimum.
		clique.Spec.Replicas = wantedReplicas(component)
		clique.Spec.MinAvailable = new(ptr.Deref(component.MinAvailable, clique.Spec.Replicas))
	case names.Grouped(component):
		// Each replica is a copy of the scaling group, with one pod.
		clique.TopologyConstraint, clique.TopologySpread = nil, nil
		made.group = group(component, live, clique.Name)
	default:
		clique.Spec.Replicas, clique.Spec.MinAvailable = templateReplicas(component, live), new(minAvailable(component))
	}
	made.cliques = []grovev1alpha1.PodCliqueTemplateSpec{clique}
	return made, nil
}

func podOf(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, options Options, live Live,
) pods.Template {
	pod := pods.Make(deployment, component, options.Infrastructure)
	if id := live.Restarts[component.Name]; id != "" {
		pod.Annotations[v1beta1.AnnotationRestart] = id
	}
	if policy := pods.KVTransferPolicyOf(deployment); policy != nil {
		pod.AskForLevel(policy, options.TransferLevel)
	}
	return pod
}

func singleNode(component *v1beta1.ComponentSpec, pod pods.Template) grovev1alpha1.PodCliqueTemplateSpec {
	name := names.Component(component.Name)
	return grovev1alpha1.PodCliqueTemplateSpec{
		Name:               name,
		Labels:             pod.Labels,
		Annotations:        pod.Annotations,
		TopologyConstraint: componentPack(component),
		TopologySpread:     spreads(component.TopologySpread),
		Spec: grovev1alpha1.PodCliqueSpec{RoleName: name, PodSpec: pod.Spec, Replicas: 1,
			MinAvailable: new(int32(1))},
	}
}

func group(component *v1beta1.ComponentSpec, live Live, cliques ...string) *grovev1alpha1.PodCliqueScalingGroupConfig {
	return &grovev1alpha1.PodCliqueScalingGroupConfig{
		Name:               names.Component(component.Name),
		CliqueNames:        cliques,
		Replicas:           new(templateReplicas(component, live)),
		MinAvailable:       new(minAvailable(component)),
		TopologyConstraint: componentPack(component),
		TopologySpread:     spreads(component.TopologySpread),
	}
}

// groups are the scaling groups of component groups, with the cliques of all their components in the order of the
// template.
func groups(
	deployment *v1beta1.DynamoGraphDeployment, cliques []grovev1alpha1.PodCliqueTemplateSpec, live Live,
) []grovev1alpha1.PodCliqueScalingGroupConfig {
	members := map[string][]string{}
	for i := range cliques {
		if in := names.GroupOf(deployment, cliques[i].Labels[v1beta1.LabelComponent]); in != nil {
			members[in.Name] = append(members[in.Name], cliques[i].Name)
		}
	}
	var made []grovev1alpha1.PodCliqueScalingGroupConfig
	for _, unit := range names.Units(deployment) {
		if cliques := members[unit.Name]; len(cliques) > 0 {
			made = append(made, *group(unit, live, cliques...))
		}
	}
	return made
}

// spreads translates topologySpread into Grove's fields, where parts have the names of scaling groups.
func spreads(written []v1beta1.TopologySpread) []grovev1alpha1.TopologySpread {
	var said []grovev1alpha1.TopologySpread
	for _, spread := range written {
		made := grovev1alpha1.TopologySpread{
			Domain: grovev1alpha1.TopologyDomain(spread.Domain), MaxPerDomain: spread.MaxPerDomain,
			MaxPercentPerDomain: spread.MaxPercentPerDomain, Even: spread.Even,
			Near: spread.Near, WhenUnsatisfiable: spread.WhenUnsatisfiable,
		}
		for _, name := range spread.Among {
			made.Among = append(made.Among, names.Component(name))
		}
		said = append(said, made)
	}
	return said
}

// multinode makes a leader and its workers one unit that scales as a whole. Only the unit has the component's
// constraint: on the cliques the constraint would keep workers together, or each clique on its own, but not with their
// leader.
func multinode(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, options Options, live Live,
) (parts, error) {
	leading, err := pods.OfRole(component, v1beta1.RoleLeader)
	if err != nil {
		return parts{}, err
	}
	working, err := pods.OfRole(component, v1beta1.RoleWorker)
	if err != nil {
		return parts{}, err
	}
	pod := podOf(deployment, leading, options, live)
	workerPod := pod
	if leading != working {
		workerPod = podOf(deployment, working, options, live)
	}
	framework := launch.Framework(deployment.Spec.BackendFramework, pod.Main())
	made := parts{services: services(deployment, leading, &pod), ordered: launch.LeaderStartsLast(framework)}
	for _, name := range names.Nodes(deployment, component) {
		leader := node(deployment, component, name, framework, pod, true)
		worker := node(deployment, component, name, framework, workerPod, false)
		if made.ordered {
			leader.Spec.StartsAfter = []string{worker.Name}
		}
		made.cliques = append(made.cliques, leader, worker)
	}
	if names.GroupOf(deployment, component.Name) == nil {
		made.group = group(component, live, made.cliques[0].Name, made.cliques[1].Name)
	}
	return made, nil
}

// node is the clique of the leader, or of the workers, of one multinode replica. Its name begins with the given one.
func node(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, of string,
	framework v1beta1.BackendFramework, pod pods.Template, leader bool,
) grovev1alpha1.PodCliqueTemplateSpec {
	name, role, count := of+names.WorkerSuffix, v1beta1.RoleWorker, component.Multinode.NodeCount-1
	if leader {
		name, role, count = of+names.LeaderSuffix, v1beta1.RoleLeader, 1
	}
	labels := maps.Clone(pod.Labels)
	labels[v1beta1.LabelMultinodeRole] = role
	own := pods.Template{Spec: *pod.Spec.DeepCopy()}
	launch.Configure(framework, launchNode(deployment, component, of, leader), &own.Spec, own.Main())
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

// pack translates a constraint into Grove's fields; nil for none.
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

// Constrained reports whether a deployment has a topology constraint or a spread at any level.
func Constrained(deployment *v1beta1.DynamoGraphDeployment) bool {
	deployment = overrides.Folded(deployment)
	if constraint := deployment.Spec.TopologyConstraint; constraint != nil &&
		pack(constraint.PackDomain, constraint.PreferredDomain) != nil {
		return true
	}
	said := func(component *v1beta1.ComponentSpec) bool {
		return componentPack(component) != nil || len(component.TopologySpread) > 0
	}
	return len(deployment.Spec.TopologySpread) > 0 || slices.ContainsFunc(names.Units(deployment), said) ||
		slices.ContainsFunc(deployment.Spec.Components,
			func(component v1beta1.ComponentSpec) bool { return said(&component) })
}

// TopologyName is the ClusterTopology that a deployment's constraints refer to; empty if it has none.
func TopologyName(deployment *v1beta1.DynamoGraphDeployment) string {
	deployment = overrides.Folded(deployment)
	switch constraint := deployment.Spec.TopologyConstraint; {
	case !Constrained(deployment):
		return ""
	case constraint != nil && constraint.ClusterTopologyName != "":
		return constraint.ClusterTopologyName
	default:
		return grovev1alpha1.DefaultClusterTopologyName
	}
}

// TransferTopologyName is the topology by which a deployment's kvTransferPolicy names its level; empty if it names
// none.
func TransferTopologyName(deployment *v1beta1.DynamoGraphDeployment) string {
	if policy := pods.KVTransferPolicyOf(deployment); policy != nil && policy.LabelKey == "" {
		return policy.ClusterTopologyName
	}
	return ""
}
