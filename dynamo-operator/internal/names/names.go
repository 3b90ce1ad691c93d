// Package names gives the names of what is made for a deployment, within the lengths that Kubernetes and Grove allow.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// Budget is what the names of a PodCliqueSet, of a scaling group in it and of a clique in that may have together, so
	// that the names of their pods are DNS labels.
	Budget = 45
	// Shortest is the length down to which the name of a deployment is shortened: a letter and the hash.
	Shortest = 1 + hashLength
	// LeaderSuffix and WorkerSuffix follow the name of a multinode component in the names of its cliques.
	LeaderSuffix = "-ldr"
	WorkerSuffix = "-wkr"
	// LeadersSuffix follows it in the name of the Service of its leaders.
	LeadersSuffix = "-leader"

	hashLength = 7 // A dash and six hexadecimal digits.
)

// Component is the name of a component in the names of what is made for it.
func Component(name string) string {
	return strings.ToLower(name)
}

// Grouped says whether a component becomes a scaling group: with several nodes, or where it asks for that.
func Grouped(component *v1beta1.ComponentSpec) bool {
	experimental := component.Experimental
	forced := experimental != nil && experimental.Grove != nil && experimental.Grove.ForceScalingGroup != nil && *experimental.Grove.ForceScalingGroup
	return component.Multinode != nil || forced
}

// Taken is how much of the budget a component takes: its clique's name, and its scaling group's where it has one.
func Taken(component *v1beta1.ComponentSpec) int {
	switch {
	case component.Multinode != nil:
		return len(component.Name) + len(component.Name+WorkerSuffix)
	case Grouped(component):
		return 2 * len(component.Name)
	default:
		return len(component.Name)
	}
}

// Left is what the components leave of the budget for the PodCliqueSet's name.
func Left(components []v1beta1.ComponentSpec) int {
	left := Budget
	for i := range components {
		left = min(left, Budget-Taken(&components[i]))
	}
	return left
}

// plain is the name of a deployment where a dot cannot stand, as in the names of Services and pods.
func plain(deployment *v1beta1.DynamoGraphDeployment) string {
	return strings.ReplaceAll(deployment.Name, ".", "-")
}

// PodCliqueSet is the name of a deployment's PodCliqueSet: the deployment's own, shortened where the components do not
// leave that much. The components of a deployment do not change, so neither does the name.
func PodCliqueSet(deployment *v1beta1.DynamoGraphDeployment) string {
	return Shortened(plain(deployment), max(Left(deployment.Spec.Components), Shortest))
}

// Hosts is the name of the Service under which the pods of a deployment have their host names.
func Hosts(deployment *v1beta1.DynamoGraphDeployment) string {
	return PodCliqueSet(deployment) + "-0" // That of the set's first replica, and it has no other.
}

// Selector is the value that tells the pods of one component from all others, and the name of its Service.
func Selector(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return label(plain(deployment) + "-" + Component(component.Name))
}

// Deployment is the name of a deployment as a label has it.
func Deployment(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(deployment.Name)
}

// Leaders is the name of the Service of a multinode component's leaders.
func Leaders(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return label(plain(deployment) + "-" + Component(component.Name) + LeadersSuffix)
}

// GlobalDynamoNamespace is the name under which pods of all deployments find one another that ask for it.
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

// ModelHash stands for the name of a model where that cannot stand.
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

// Shortened is the name itself where it is short enough, else its beginning and a hash of the whole, so that two long
// names that begin alike stay two.
func Shortened(name string, length int) string {
	if len(name) <= length {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:length-hashLength], "-.") + "-" + hex.EncodeToString(sum[:3])
}
