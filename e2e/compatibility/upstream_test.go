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

// asUpstream is what the list says of a field that works here as upstream documents it.
const asUpstream = "carried out"

// head is the beginning of the page.
const head = `# Fields of Grove and Dynamo

Packtree serves kinds of Grove and Dynamo and accepts every field of their specs.
A field that is not in the tables works as upstream documents it.
The tables list the exceptions and the fields that only Packtree has.
A path stands for the fields below it too, unless they have rows of their own.

The page is generated from a list in the tests of [compatibility](compatibility.md).
The tests compare that list with the Go types, for Grove of 2026-08-19 and Dynamo of 2026-08.
The [API reference](api/README.md) describes each field.
`

// Page is the documentation of the list: the fields that differ from upstream, and the fields that upstream lacks.
func (u *upstreamFields) Page() string {
	var b strings.Builder
	b.WriteString(head)
	for _, kind := range u.Kinds {
		here := maps.Clone(kind.Fields)
		for _, path := range kind.Ours {
			here[path] = "only in Packtree"
		}
		fmt.Fprintf(&b, "\n## %s, %s\n\n| field | here |\n|---|---|\n", kind.Kind, kind.Version)
		for _, path := range slices.Sorted(maps.Keys(here)) {
			if inherited := inheritedFrom(path, here); here[path] != inherited {
				fmt.Fprintf(&b, "| `%s` | %s |\n", path, here[path])
			}
		}
	}
	return b.String()
}

// inheritedFrom is what the list says of the nearest field above a path, or asUpstream.
func inheritedFrom(path string, here map[string]string) string {
	if dot := strings.LastIndex(path, "."); dot > 0 && here[path[:dot]] != "" {
		return here[path[:dot]]
	}
	return asUpstream
}
