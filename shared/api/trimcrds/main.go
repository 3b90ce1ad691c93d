// Command trimcrds takes the descriptions of Kubernetes' own pod types out of generated CRDs. They are nine tenths of
// the bytes, `kubectl explain pod.spec` has them, and a Helm release must stay below a mebibyte.
//
// Usage: trimcrds FILE...
package main

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// borrowed are the fields with a schema of Kubernetes' own types, all the way down.
var borrowed = []string{
	"podSpec", "podTemplate", "extraPodSpec", "metrics", "envs", "env", "livenessProbe", "readinessProbe", "claims",
	"templateSpec",
}

func main() {
	for _, file := range os.Args[1:] {
		if err := trimFile(file); err != nil {
			fmt.Fprintf(os.Stderr, "trimcrds: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func trimFile(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition map[string]any
	if err := yaml.Unmarshal(content, &definition); err != nil {
		return err
	}
	trim(definition, false)
	trimmed, err := yaml.Marshal(definition)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), trimmed...), 0o644)
}

// trim walks a schema. Inside says that the value belongs to a borrowed type.
func trim(value any, inside bool) {
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value["description"].(string); ok && inside {
			delete(value, "description")
		}
		for key, inner := range value {
			if key == "properties" {
				trimProperties(inner, inside)
				continue
			}
			trim(inner, inside)
		}
	case []any:
		for _, inner := range value {
			trim(inner, inside)
		}
	}
}

func trimProperties(properties any, inside bool) {
	fields, _ := properties.(map[string]any)
	for name, schema := range fields {
		field, ok := schema.(map[string]any)
		if !ok || inside || !slices.Contains(borrowed, name) {
			trim(schema, inside)
			continue
		}
		// The field's own description is ours.
		description := field["description"]
		trim(field, true)
		if description != nil {
			field["description"] = description
		}
	}
}
