package shapes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/kai-topology-plugin/internal/capacity"
)

// maxNamed is how many shapes may be named: each is a series for every domain.
const maxNamed = 16

// FromConfiguration returns the shapes that somebody named. The error has the path of the field that is wrong, without
// what is above the list.
func FromConfiguration(named []Named) ([]capacity.Shape, error) {
	if len(named) > maxNamed {
		return nil, fmt.Errorf("shapes: at most %d may be named, not %d", maxNamed, len(named))
	}
	var found []capacity.Shape
	for i := range named {
		if wrong := named[i].wrong(named[:i]); wrong != "" {
			return nil, fmt.Errorf("shapes[%d].%s", i, wrong)
		}
		shape, err := named[i].shape()
		if err != nil {
			return nil, fmt.Errorf("shapes[%d].resources: %w", i, err)
		}
		found = append(found, shape)
	}
	return found, nil
}

// wrong says what is wrong with a shape among those before it, and where; empty if nothing is.
func (n *Named) wrong(before []Named) string {
	if faults := validation.IsDNS1123Label(n.Name); len(faults) > 0 {
		return "name: " + strings.Join(faults, "; ")
	}
	if slices.ContainsFunc(before, func(other Named) bool { return other.Name == n.Name }) {
		return fmt.Sprintf("name: %s is named already", n.Name)
	}
	if n.Pods < 1 {
		return fmt.Sprintf("pods: must be at least 1, not %d", n.Pods)
	}
	if len(n.Resources) == 0 {
		return "resources: must have at least one, such as cpu"
	}
	for _, name := range slices.Sorted(maps.Keys(n.Resources)) {
		if amount := n.Resources[name]; amount.Sign() <= 0 {
			return fmt.Sprintf("resources.%s: must be above 0, not %s", name, amount.String())
		}
	}
	return ""
}

// Form is how a shape is written in a line.
const Form = "NAME=PODS x RESOURCE=AMOUNT[,...] [in one LEVEL] [on LABEL=VALUE ...]"

// Parse reads shapes that are each written in a line, in Form.
func Parse(lines []string) ([]Named, error) {
	if len(lines) > maxNamed {
		return nil, fmt.Errorf("at most %d may be named, not %d", maxNamed, len(lines))
	}
	var found []Named
	for _, line := range lines {
		named, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%q is not %s: %w", line, Form, err)
		}
		if wrong := named.wrong(found); wrong != "" {
			return nil, fmt.Errorf("%q: %s", line, wrong)
		}
		found = append(found, named)
	}
	return found, nil
}

func parse(line string) (Named, error) {
	name, asks, _ := strings.Cut(line, "=")
	words := strings.Fields(asks)
	if len(words) < 3 || words[1] != "x" {
		return Named{}, fmt.Errorf("after the name it lacks PODS x RESOURCE=AMOUNT")
	}
	pods, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil {
		return Named{}, fmt.Errorf("%q is no number of pods", words[0])
	}
	named := Named{Name: strings.TrimSpace(name), Pods: pods, Resources: corev1.ResourceList{},
		NodeSelector: map[string]string{}}
	for _, part := range strings.Split(words[2], ",") {
		of, amount, _ := strings.Cut(part, "=")
		if named.Resources[corev1.ResourceName(of)], err = resource.ParseQuantity(amount); err != nil {
			return Named{}, fmt.Errorf("%q is no RESOURCE=AMOUNT: %w", part, err)
		}
	}
	for rest := words[3:]; len(rest) > 0; {
		switch {
		case len(rest) >= 3 && rest[0] == "in" && rest[1] == "one" && named.RequiredLevel == "":
			named.RequiredLevel, rest = rest[2], rest[3:]
		case len(rest) >= 2 && rest[0] == "on" && strings.Contains(rest[1], "="):
			label, value, _ := strings.Cut(rest[1], "=")
			named.NodeSelector[label], rest = value, rest[2:]
		default:
			return Named{}, fmt.Errorf("%q is neither \"in one LEVEL\" nor \"on LABEL=VALUE\"", strings.Join(rest, " "))
		}
	}
	return named, nil
}
