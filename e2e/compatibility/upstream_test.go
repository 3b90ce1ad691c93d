package compatibility_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// upstreamFields are the fields of kinds that both the upstream projects and we have.
type upstreamFields struct {
	Kinds []upstreamKind `json:"kinds"`
}

// upstreamKind is one kind in one version.
type upstreamKind struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	// Fields are the paths of its fields, and what happens to each here.
	Fields map[string]string `json:"fields"`
	// Ours are the paths of fields that upstream does not have.
	Ours []string `json:"ours,omitempty"`
}

// readUpstream reads the list of fields.
func readUpstream(content []byte) (*upstreamFields, error) {
	read := &upstreamFields{}
	if err := yaml.UnmarshalStrict(content, read); err != nil {
		return nil, fmt.Errorf("reading the list of upstream's fields: %w", err)
	}
	return read, nil
}

// ownModule is the prefix of the types of our kinds; types of other modules are not entered.
const ownModule = "packtree.dev/"

// fieldsOf returns the paths of all fields of a type, each below prefix, sorted: names as in JSON, those of a list's
// items below the list. Inline fields have the path of their parent.
func fieldsOf(of reflect.Type, prefix string) []string {
	found := map[string]bool{}
	collect(of, prefix, found)
	return slices.Sorted(maps.Keys(found))
}

func collect(of reflect.Type, path string, found map[string]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), ownModule) {
		return
	}
	if _, written := reflect.PointerTo(of).MethodByName("MarshalJSON"); written && of.Name() == "ExtraPodSpec" {
		return // A PodSpec with a container.
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			collect(field.Type, path, found)
		case name != "":
			found[path+"."+name] = true
			collect(field.Type, path+"."+name, found)
		}
	}
}

// Page is the documentation of the list.
func (u *upstreamFields) Page() string {
	var b strings.Builder
	b.WriteString(
		"# Fields of upstream's kinds\n\nWhat Grove and Dynamo have in the specs of kinds that Packtree serves too, " +
			"and what becomes of each field here: everything is taken, and \"unknown field\" is for misspellings alone.\n")
	b.WriteString(
		"Made of a list in the tests of [compatibility](compatibility.md), which compare it with the types in Go: " +
			"a field that is missing here fails them.\nGrove is that of 2026-08-19, Dynamo that of 2026-08.\n")
	b.WriteString("What is inside of Kubernetes' own types, such as a pod spec, is Kubernetes'.\n")
	for _, kind := range u.Kinds {
		fmt.Fprintf(&b, "\n## %s, %s\n\n| field | here |\n|---|---|\n", kind.Kind, kind.Version)
		for _, path := range slices.Sorted(maps.Keys(kind.Fields)) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", path, kind.Fields[path])
		}
		for _, path := range kind.Ours {
			fmt.Fprintf(&b, "| `%s` | ours alone |\n", path)
		}
	}
	return b.String()
}
