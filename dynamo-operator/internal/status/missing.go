package status

import (
	"fmt"
	"slices"
	"strings"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// lack says what a component lacks, and why, if that is known.
type lack struct{ what, why string }

// lacks says for each component that is not all ready how many replicas are missing, in the order of the spec.
func lacks(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation) []lack {
	var all []lack
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		if one := lackOf(component, unitOf(deployment, component), observed); one.what != "" {
			all = append(all, one)
		}
	}
	return all
}

// unitOf is the word for a component's replicas: for a component in a group they are copies of the group.
func unitOf(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	switch {
	case names.GroupOf(deployment, component.Name) != nil:
		return "copies"
	case component.Multinode != nil:
		return "replicas"
	default:
		return "pods"
	}
}

func lackOf(component *v1beta1.ComponentSpec, unit string, observed backend.Observation) lack {
	service, made := observed.Services[component.Name]
	wanted := observed.Wanted[component.Name]
	waiting := max(0, wanted-service.ScheduledReplicas)
	notReady := wanted - service.ReadyReplicas - waiting
	switch {
	case !made:
		return lack{what: component.Name + ": not created yet"}
	case service.ReadyReplicas >= wanted && service.Replicas > wanted:
		return lack{what: fmt.Sprintf("%s: %d %s above %d are being removed", component.Name,
			service.Replicas-wanted, unit, wanted)}
	case service.ReadyReplicas >= wanted:
		return lack{}
	case waiting == 0 || notReady < 0: // A ready replica has a node, even if nodes were counted earlier.
		missing := wanted - service.ReadyReplicas
		what := fmt.Sprintf("%s: %d of %d %s %s not ready", component.Name, missing, wanted, unit,
			verb(missing, "is", "are"))
		return lack{what: what, why: observed.Fails[component.Name]}
	}
	what := fmt.Sprintf("%s: %d of %d %s %s", component.Name, waiting, wanted, unit, verb(waiting, "waits", "wait"))
	if notReady > 0 {
		what += fmt.Sprintf(", %d %s not ready", notReady, verb(notReady, "is", "are"))
	}
	return lack{what: what, why: observed.Waits[component.Name]}
}

func verb(count int32, one, many string) string {
	if count == 1 {
		return one
	}
	return many
}

// sentence says what is missing and why. A reason that several components share, as in one gang, is given once.
func sentence(lacks []lack, message string) string {
	var parts []string
	if message != "" {
		parts = append(parts, message)
	}
	var said []string
	for _, first := range lacks {
		switch {
		case first.why == "":
			parts = append(parts, first.what)
		case !slices.Contains(said, first.why):
			said = append(said, first.why)
			parts = append(parts, strings.Join(sharing(lacks, first.why), ", ")+": "+first.why)
		}
	}
	if len(parts) == 0 {
		return "every replica is ready; the PodCliqueSet does not say so yet"
	}
	return strings.Join(parts, "; ")
}

func sharing(lacks []lack, why string) []string {
	var what []string
	for _, one := range lacks {
		if one.why == why {
			what = append(what, one.what)
		}
	}
	return what
}
