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

	hashLength = 7 // A dash and six hexadecimal digits.
)

// Component is the name of a component in the names of what is made for it.
func Component(name string) string {
	return strings.ToLower(name)
}

// Taken is how much of the budget a component takes: its clique's name, and its scaling group's where it has one.
func Taken(component *v1beta1.ComponentSpec) int {
	if component.Multinode == nil {
		return len(component.Name)
	}
	return len(component.Name) + len(component.Name+WorkerSuffix)
}

// Left is what the components leave of the budget for the PodCliqueSet's name.
func Left(components []v1beta1.ComponentSpec) int {
	left := Budget
	for i := range components {
		left = min(left, Budget-Taken(&components[i]))
	}
	return left
}

// PodCliqueSet is the name of a deployment's PodCliqueSet: the deployment's own, shortened where the components do not
// leave that much. The components of a deployment do not change, so neither does the name.
func PodCliqueSet(deployment *v1beta1.DynamoGraphDeployment) string {
	return Shortened(deployment.Name, max(Left(deployment.Spec.Components), Shortest))
}

// Hosts is the name of the Service under which the pods of a deployment have their host names.
func Hosts(deployment *v1beta1.DynamoGraphDeployment) string {
	return PodCliqueSet(deployment) + "-0" // That of the set's first replica, and it has no other.
}

// Selector is the value that tells the pods of one component from all others, and the name of its Service.
func Selector(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	return label(deployment.Name + "-" + Component(component.Name))
}

// Deployment is the name of a deployment as a label has it.
func Deployment(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(deployment.Name)
}

// DynamoNamespace is the name under which the pods of a deployment find one another.
func DynamoNamespace(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(deployment.Namespace + "-" + deployment.Name)
}

// Discovery is the name of the ServiceAccount, the Role and the RoleBinding by which the pods find one another.
func Discovery(deployment *v1beta1.DynamoGraphDeployment) string {
	return label(deployment.Name + "-k8s-service-discovery")
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
