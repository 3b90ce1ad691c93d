// Command opencrds makes an API server keep, in the spec of generated CRDs, fields that the schema does not know. It
// would drop them before admission, and a client that asks for no strictness would not hear of its misspelt field: it
// is the kind's webhook that turns them down, with their path and what was probably meant. For kinds with a status
// that other projects write too, the status keeps what these write, and asks no more of a condition than they say.
//
// Usage: opencrds FILE...
package main

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

const keep = "x-kubernetes-preserve-unknown-fields"

// shared are the kinds with a status that KAI's own programs write as well.
var shared = []string{"PodGroup"}

func main() {
	for _, file := range os.Args[1:] {
		if err := openFile(file); err != nil {
			fmt.Fprintf(os.Stderr, "opencrds: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func openFile(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition map[string]any
	if err := yaml.Unmarshal(content, &definition); err != nil {
		return err
	}
	versions, _ := at(definition, "spec")["versions"].([]any)
	for _, version := range versions {
		version, _ := version.(map[string]any)
		spec := at(version, "schema", "openAPIV3Schema", "properties", "spec")
		if spec == nil {
			return fmt.Errorf("version %v has no spec", version["name"])
		}
		open(spec)
		if kind, _ := at(definition, "spec", "names")["kind"].(string); slices.Contains(shared, kind) {
			status := at(version, "schema", "openAPIV3Schema", "properties", "status")
			open(status)
			at(status, "properties", "conditions", "items")["required"] = []any{"status", "type"}
			delete(at(status, "properties", "conditions", "items", "properties", "reason"), "minLength")
			delete(at(status, "properties", "conditions", "items", "properties", "reason"), "pattern")
		}
	}
	opened, err := yaml.Marshal(definition)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), opened...), 0o644)
}

func at(value map[string]any, path ...string) map[string]any {
	for _, key := range path {
		value, _ = value[key].(map[string]any)
	}
	return value
}

// open lets a schema, and all inside it, keep what it does not know. Maps have no fields to misspell.
func open(schema map[string]any) {
	if fields, ok := schema["properties"].(map[string]any); ok {
		schema[keep] = true
		for name := range fields {
			open(at(fields, name))
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if schema, ok := schema[inner].(map[string]any); ok {
			open(schema)
		}
	}
}
