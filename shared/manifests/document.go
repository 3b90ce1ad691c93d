// Package manifests reads and writes Kubernetes manifests for the offline commands: many documents a file, lists,
// directories and standard input, with findings that name the file, the document, the object and the field.
package manifests

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Document is one object of the input.
type Document struct {
	// Source is the file and the number of the document in it, counted from 1: `dgd.yaml[2]`. The items of a list have
	// the number of the list.
	Source string
	// Object is the object as it was written; it has an apiVersion and a kind.
	Object *unstructured.Unstructured
}

// Finding is one mistake in the input.
type Finding struct {
	// Source is as in Document.
	Source string
	// Kind, Namespace and Name of the object; empty if they could not be read. The namespace is the one that the object
	// would have in a cluster.
	Kind, Namespace, Name string
	// Path is the field, as in spec.template.cliques[0].name; empty for the whole document.
	Path string
	// Reason says what is wrong and, if it is known, what would be right.
	Reason string
	// Unknown marks a field that does not exist, or exists twice.
	Unknown bool
	// Warning marks a finding that does not reject the input.
	Warning bool
}

// String is the line for users: FILE[document]: Kind namespace/name: field.path: reason.
func (f Finding) String() string {
	parts := []string{f.Source}
	if f.Kind != "" {
		name := f.Name
		if f.Namespace != "" && f.Name != "" {
			name = f.Namespace + "/" + name
		}
		parts = append(parts, strings.TrimSpace(f.Kind+" "+name))
	}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	if f.Warning {
		parts = append(parts, "warning")
	}
	return strings.Join(append(parts, strings.ReplaceAll(f.Reason, "\n", "; ")), ": ")
}

// Finding returns a finding about a field of the document's object.
func (d Document) Finding(path, reason string) Finding {
	return Finding{
		Source:    d.Source,
		Kind:      d.Object.GetKind(),
		Namespace: namespaceOf(d.Object),
		Name:      d.Object.GetName(),
		Path:      path,
		Reason:    reason,
	}
}

// FieldFindings converts the errors of a validation to findings about the document, in the same order.
func (d Document) FieldFindings(errs field.ErrorList) []Finding {
	var findings []Finding
	for _, err := range errs {
		findings = append(findings, d.Finding(err.Field, err.ErrorBody()))
	}
	return findings
}

// Warnings returns findings that do not reject the document.
func (d Document) Warnings(messages []string) []Finding {
	var findings []Finding
	for _, message := range messages {
		finding := d.Finding("", message)
		finding.Warning = true
		findings = append(findings, finding)
	}
	return findings
}

// DecodeInto fills object, a pointer to an API type, from the document. Unknown and duplicate fields are findings with
// a suggestion, as is a value of the wrong type. Object may be used only if there are no findings.
func (d Document) DecodeInto(object any) []Finding {
	written, err := json.Marshal(d.Object.Object)
	if err != nil {
		return []Finding{d.Finding("", err.Error())}
	}
	var findings []Finding
	for _, problem := range DecodeStrict(written, object) {
		finding := d.Finding(problem.Path, problem.Reason)
		finding.Unknown = problem.Unknown
		findings = append(findings, finding)
	}
	return findings
}
