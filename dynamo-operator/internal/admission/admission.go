package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/conversion"
	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Candidate is a deployment that a user wants to write, in the version in which it was written.
type Candidate struct {
	// Hub is the deployment as it is going to be stored.
	Hub *v1beta1.DynamoGraphDeployment

	written *v1alpha1.DynamoGraphDeployment
	words   words
}

// FromV1Alpha1 returns the candidate that was written as v1alpha1.
func FromV1Alpha1(written *v1alpha1.DynamoGraphDeployment) (Candidate, error) {
	hub := &v1beta1.DynamoGraphDeployment{}
	if err := conversion.ToHub(written, hub); err != nil {
		return Candidate{}, err
	}
	return Candidate{Hub: hub, written: written, words: alphaWords}, nil
}

// FromV1Beta1 returns the candidate that was written as v1beta1.
func FromV1Beta1(written *v1beta1.DynamoGraphDeployment) Candidate {
	return Candidate{Hub: written, words: betaWords}
}

// Validate returns the errors of the deployment by itself. Paths are those of the version that was written.
func (c Candidate) Validate() field.ErrorList {
	var errs field.ErrorList
	if c.written != nil {
		errs = append(validateServices(c.written), validateKept(c.Hub.Annotations)...)
	}
	return c.naming(append(errs, validate(c.Hub, c.words)...))
}

// ValidateConstraints returns the errors of the topology constraints by themselves. The schema finds a part of them
// too, but its messages name neither the choices nor what to do.
func (c Candidate) ValidateConstraints() field.ErrorList {
	return c.naming(validateTopology(c.Hub, c.words))
}

// ValidateCreate returns the errors of creating the deployment in a cluster with that topology.
func (c Candidate) ValidateCreate(topology Topology) field.ErrorList {
	errs := append(c.Validate(), c.naming(validateSchedulers(c.Hub, c.words))...)
	return append(errs, c.naming(checkTopology(c.Hub, topology, c.words))...)
}

// ValidateUpdate returns the errors of writing the deployment over an older state of itself. Constraints of the old
// state are not judged again, since they cannot be changed.
func (c Candidate) ValidateUpdate(old Candidate) field.ErrorList {
	errs := c.Validate()
	if len(validateSchedulers(old.Hub, old.words)) == 0 {
		errs = append(errs, c.naming(validateSchedulers(c.Hub, c.words))...)
	}
	return append(errs, c.naming(validateUpdate(old.Hub, c.Hub, c.words))...)
}

// Warnings returns what is accepted although it is probably not what was meant.
func (c Candidate) Warnings() []string {
	var warnings []string
	if c.written != nil {
		warnings = serviceWarnings(c.written)
	}
	warnings = append(warnings, annotationWarnings(c.Hub.Annotations)...)
	warnings = append(warnings, deploymentWarnings(&c.Hub.Spec)...)
	for i := range c.Hub.Spec.Components {
		warnings = append(warnings, c.componentWarnings(i)...)
		if warning := c.multinodeWarning(i); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	for i, warning := range warnings {
		path, _, _ := strings.Cut(warning, ":")
		warnings[i] = withService(warning, c.serviceAt(path))
	}
	return warnings
}

// multinodeWarning warns of pods that will not become one engine because their command takes no flags for finding one
// another.
func (c Candidate) multinodeWarning(index int) string {
	component, err := pods.OfRole(&c.Hub.Spec.Components[index], v1beta1.RoleLeader)
	if err != nil {
		return "" // That is an error, which Validate returns.
	}
	at := slices.IndexFunc(component.PodTemplate.Spec.Containers, isMain)
	if component.Multinode == nil || at < 0 || len(validateFramework(c.Hub.Spec.BackendFramework)) > 0 {
		return ""
	}
	main := &component.PodTemplate.Spec.Containers[at]
	path := c.words.main(index, component).Child("args")
	framework := launch.Framework(c.Hub.Spec.BackendFramework, main)
	switch {
	case framework == "":
		return fmt.Sprintf(
			"%s: starts no framework that is known, so its %d nodes get no flags to find one another; set "+
				"spec.backendFramework",
			path, component.Multinode.NodeCount)
	case !launch.Takes(framework, main.DeepCopy()):
		return fmt.Sprintf(
			"%s: no place for the flags by which %d nodes of %s find one another; start it with python3 -m dynamo.%s",
			path, component.Multinode.NodeCount, framework, framework)
	case launch.Fits(framework, main, max(component.Multinode.NodeCount, 1)):
		return fmt.Sprintf(
			"%s: all parallel ranks fit into the GPUs of one pod, so that %d nodes run as many engines; "+
				"raise --tensor-parallel-size, --pipeline-parallel-size or --data-parallel-size, or leave "+
				"multinode out",
			path, component.Multinode.NodeCount)
	default:
		return ""
	}
}
