// Package names gives the names of the objects that are made for a deployment, within the lengths that Kubernetes and
// Grove allow.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// Budget bounds the names of a PodCliqueSet, of a scaling group in it and of a clique in the group together, so
	// that the names of their pods are DNS labels.
	Budget = 45
	// Shortest is the length down to which the name of a deployment is shortened: a letter and the hash.
	Shortest = 1 + hashLength
	// LeaderSuffix and WorkerSuffix follow the name of a multinode component in the names of its cliques.
	LeaderSuffix = "-ldr"
	WorkerSuffix = "-wkr"
	// LeadersSuffix follows the name of a multinode component in the name of the Service of its leaders.
	LeadersSuffix = "-leader"

	hashLength = 7 // A dash and six hexadecimal digits.
)

// Component is the name of a component as part of the names of its objects.
func Component(name string) string {
	return strings.ToLower(name)
}

// GroupOf returns the component group of a component; nil if the component scales by itself.
func GroupOf(deployment *v1beta1.DynamoGraphDeployment, component string) *v1beta1.ComponentGroup {
	groups := Groups(deployment)
	for i := range groups {
		for _, member := range groups[i].Components {
			if member.Name == component {
				return &groups[i]
			}
		}
	}
	return nil
}

// Groups are the component groups of a deployment.
func Groups(deployment *v1beta1.DynamoGraphDeployment) []v1beta1.ComponentGroup {
	if deployment.Spec.Experimental == nil {
		return nil
	}
	return deployment.Spec.Experimental.ComponentGroups
}

// UnitOf returns the unit that scales a component: the component itself, or its group, written as a component.
func UnitOf(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) *v1beta1.ComponentSpec {
	if group := GroupOf(deployment, component.Name); group != nil {
		return unit(group)
	}
	return component
}

// Units returns all units that scale by themselves: components without a group, in the order of the spec, then the
// groups.
func Units(deployment *v1beta1.DynamoGraphDeployment) []*v1beta1.ComponentSpec {
	var units []*v1beta1.ComponentSpec
	for i := range deployment.Spec.Components {
		if component := &deployment.Spec.Components[i]; GroupOf(deployment, component.Name) == nil {
			units = append(units, component)
		}
	}
	groups := Groups(deployment)
	for i := range groups {
		units = append(units, unit(&groups[i]))
	}
	return units
}

func unit(group *v1beta1.ComponentGroup) *v1beta1.ComponentSpec {
	return &v1beta1.ComponentSpec{
		Name: group.Name, Replicas: group.Replicas, MinAvailable: group.MinAvailable,
		ScalingAdapter:     group.ScalingAdapter,
		TopologyConstraint: group.TopologyConstraint, TopologySpread: group.TopologySpread,
		Experimental: &v1beta1.ComponentExperimental{Grove: &v1beta1.GroveExperimental{ForceScalingGroup: new(true)}},
	}
}

// Grouped reports whether a component becomes a scaling group: if it has several nodes, or asks for that.
func Grouped(component *v1beta1.ComponentSpec) bool {
	experimental := component.Experimental
	forced := experimental != nil && experimental.Grove != nil && experimental.Grove.ForceScalingGroup != nil &&
		*experimental.Grove.ForceScalingGroup
	return component.Multinode != nil || forced
}

// Taken is how much of the budget a component takes: its clique's name, and its scaling group's if it has one.
func Taken(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) int {
	switch group := GroupOf(deployment, component.Name); {
	case group != nil:
		longest := 0
		for _, node := range Nodes(deployment, component) {
			longest = max(longest, len(node))
		}
		if component.Multinode != nil {
			longest += len(WorkerSuffix)
		}
		return len(group.Name) + longest
	case component.Multinode != nil:
		return len(component.Name) + len(component.Name+WorkerSuffix)
	case Grouped(component):
		return 2 * len(component.Name)
	default:
		return len(component.Name)
	}
}

// Nodes are the beginnings of the names of a component's cliques: one, except that a multinode component has one per
// replica in each copy of a component group.
func Nodes(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) []string {
	name := Component(component.Name)
	if component.Multinode == nil || GroupOf(deployment, component.Name) == nil || component.Replicas == nil ||
		*component.Replicas == 1 {
		return []string{name}
	}
	var names []string
	for replica := range *component.Replicas {
		names = append(names, fmt.Sprintf("%s-%d", name, replica))
	}
	return names
}

// Left is the part of the budget that the components leave for the PodCliqueSet's name.
func Left(deployment *v1beta1.DynamoGraphDeployment) int {
	left := Budget
	for i := range deployment.Spec.Components {
		left = min(left, Budget-Taken(deployment, &deployment.Spec.Components[i]))
	}
	return left
}

// plain is the name of a deployment for names that cannot have a dot, as those of Services and pods.
func plain(deployment *v1beta1.DynamoGraphDeployment) string {
	return strings.ReplaceAll(deployment.Name, ".", "-")
}

// PodCliqueSet is the name of a deployment's PodCliqueSet: the deployment's own, shortened to the length that the
// components leave. The components of a deployment do not change, so the name does not change either.
func PodCliqueSet(deployment *v1beta1.DynamoGraphDeployment) string {
	return Shortened(plain(deployment), max(Left(deployment), Shortest))
}

// Hosts is the name of the Service under which the pods of a deployment have their host names.
func Hosts(deployment *v1beta1.DynamoGraphDeployment) string {
	return PodCliqueSet(deployment) + "-0" // The name of the headless Service of the set's only replica.
}

// IsGang reports whether a name is that of a gang of a deployment: the base gang, or one of the scaled gangs.
func IsGang(deployment *v1beta1.DynamoGraphDeployment, name string) bool {
	first := PodCliqueSet(deployment) + "-0"
	return name == first || slices.ContainsFunc(Units(deployment), func(unit *v1beta1.ComponentSpec) bool {
		index, added := strings.CutPrefix(name, first+"-"+Component(unit.Name)+"-")
		_, err := strconv.ParseUint(index, 10, 31)
		return added && err == nil && Grouped(unit)
	})
}

// Selector is the label value that distinguishes the pods of one component from all others, and the name of its
// Service.
func Selector(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return label(plain(deployment) + "-" + Component(component.Name))
}

// Deployment is the name of a deployment as a label value.
func Deployment(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(deployment.Name)
}

// Leaders is the name of the Service of a multinode component's leaders.
func Leaders(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return label(plain(deployment) + "-" + Component(component.Name) + LeadersSuffix)
}

// GlobalDynamoNamespace is the name under which pods find one another across deployments, if their components ask for
// it.
const GlobalDynamoNamespace = "dynamo"

// DynamoNamespace is the name under which the pods of a component are found.
func DynamoNamespace(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	if component.GlobalDynamoNamespace {
		return GlobalDynamoNamespace
	}
	return label(deployment.Namespace + "-" + plain(deployment))
}

// Discovery is the name of the ServiceAccount, the Role and the RoleBinding by which the pods find one another.
func Discovery(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(plain(deployment) + "-k8s-service-discovery")
}

// Planner is the name of the planners' ServiceAccount, Role and RoleBinding.
func Planner(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(plain(deployment) + "-planner")
}

// EndpointPicker is the name of the endpoint picker's ServiceAccount, Role and RoleBinding.
func EndpointPicker(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(plain(deployment) + "-epp")
}

// EndpointPickerConfig is the name of the ConfigMap that is made of an endpoint picker's configuration.
func EndpointPickerConfig(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(plain(deployment) + "-epp-config")
}

// Pool is the name of the InferencePool of a deployment with an endpoint picker.
func Pool(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(plain(deployment) + "-pool")
}

// ModelHash stands for the name of a model in places that cannot have the name itself.
func ModelHash(model string) string {
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:4])
}

// Model is the name of the Service of the pods that serve a model.
func Model(deployment *v1beta1.DynamoGraphDeployment, model string) string {
	return label(plain(deployment) + "-model-" + ModelHash(model))
}

func label(name string) string {
	return Shortened(name, validation.DNS1123LabelMaxLength)
}

// Shortened is the name itself if it is short enough, or else its beginning and a hash of the whole, so that two long
// names with the same beginning stay different.
func Shortened(name string, length int) string {
	if len(name) <= length {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:length-hashLength], "-.") + "-" + hex.EncodeToString(sum[:3])
}
