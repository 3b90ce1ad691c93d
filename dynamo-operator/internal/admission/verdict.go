package admission

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verdict is the cluster's answer to the objects that a deployment would become.
type Verdict struct {
	// Refused are the reasons for which the cluster would refuse them.
	Refused []Finding
	// Warnings are the warnings that it would give beside.
	Warnings []Finding
}

// Finding is one message, and the part of the deployment that it is about.
type Finding struct {
	// Component is the index of the component that the message is about; -1 for the deployment as a whole.
	Component int
	// Field of the component, or of the spec, in the words of v1beta1, but with podSpec for the spec of the pods. Empty
	// for the whole.
	Field string
	// Message for the user.
	Message string
}

// AfterCreation is a verdict on a deployment that was created earlier. Its constraints cannot change: if the cluster
// has lost a level since, that is a warning, and no error of the update.
func (v Verdict) AfterCreation() Verdict {
	later := Verdict{Warnings: slices.Clone(v.Warnings)}
	for _, finding := range v.Refused {
		if finding.Field == "topologyConstraint" || finding.Field == betaWords.topology {
			later.Warnings = append(later.Warnings, finding)
		} else {
			later.Refused = append(later.Refused, finding)
		}
	}
	return later
}

// WarningsOf are the warnings of a verdict with the paths of the version that was written, each once.
func (c Candidate) WarningsOf(verdict Verdict) []string {
	var warnings []string
	for _, finding := range unique(verdict.Warnings) {
		path := c.pathOf(finding)
		warnings = append(warnings, path+": "+withService(finding.Message, c.serviceAt(path)))
	}
	return warnings
}

// CausesOf are the reasons for which a verdict refuses a deployment, each once.
func (c Candidate) CausesOf(verdict Verdict) []metav1.StatusCause {
	var causes []metav1.StatusCause
	for _, finding := range unique(verdict.Refused) {
		path := c.pathOf(finding)
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: path, Message: withService(finding.Message,
				c.serviceAt(path)),
		})
	}
	return causes
}

// unique drops repeated findings: leader and workers of a multinode component are made from the same fields.
func unique(findings []Finding) []Finding {
	var once []Finding
	seen := map[Finding]bool{}
	for _, finding := range findings {
		if !seen[finding] {
			once = append(once, finding)
		}
		seen[finding] = true
	}
	return once
}

func (c Candidate) pathOf(finding Finding) string {
	if finding.Component < 0 {
		switch finding.Field {
		case "":
			return "spec"
		case "clusterTopologyName":
			return specTopology().Child(c.words.topology).String()
		default:
			return "spec." + finding.Field
		}
	}
	if rest, ok := strings.CutPrefix(finding.Field, "podSpec"); ok {
		return c.words.podSpec(finding.Component).String() + rest
	}
	return strings.TrimSuffix(c.words.component(finding.Component).String()+"."+finding.Field, ".")
}
