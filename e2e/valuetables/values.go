// Package valuetables writes the table of a chart's values for its README: the names, order, defaults and meanings of
// values.yaml, with the types of values.schema.json.
package valuetables

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Row is one line of the table. A row without Type is a heading for those below it.
type Row struct {
	// Name is the path of the value, with dots.
	Name string
	// Type by the schema: a type, or the allowed values.
	Type string
	// Default in values.yaml, as JSON.
	Default string
	// Meaning is the comment above the value, or without one the schema's description.
	Meaning string
}

// schema has the fields of a JSON schema that are shown.
type schema struct {
	Type        any               `json:"type"`
	Enum        []string          `json:"enum"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

// Rows reads values.yaml and values.schema.json. Every value without an explanation, or that the schema does not have,
// is an error.
func Rows(values, valuesSchema []byte) ([]Row, error) {
	var root schema
	if err := json.Unmarshal(valuesSchema, &root); err != nil {
		return nil, fmt.Errorf("reading values.schema.json: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return nil, fmt.Errorf("reading values.yaml: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("reading values.yaml: it has to be one mapping")
	}
	return rowsOf("", document.Content[0], root)
}

func rowsOf(prefix string, mapping *yaml.Node, described schema) ([]Row, error) {
	var rows []Row
	var wrong []error
	for pair := range slices.Chunk(mapping.Content, 2) {
		key, value := pair[0], pair[1]
		name := prefix + key.Value
		of, known := described.Properties[key.Value]
		if !known {
			wrong = append(wrong, fmt.Errorf("values.yaml:%d: %s is not in values.schema.json", key.Line, name))
			continue
		}
		added, err := rowsOfValue(name, key, value, of)
		rows, wrong = append(rows, added...), append(wrong, err)
	}
	return rows, errors.Join(wrong...)
}

func rowsOfValue(name string, key, value *yaml.Node, of schema) ([]Row, error) {
	said := meaning(key)
	if value.Kind == yaml.MappingNode && len(value.Content) > 0 && holdsAny(of, value) {
		below, err := rowsOf(name+".", value, of)
		if said != "" {
			below = append([]Row{{Name: name, Meaning: said}}, below...)
		}
		return below, err
	}
	if said == "" {
		said = of.Description
	}
	if said == "" {
		return nil, fmt.Errorf("values.yaml:%d: %s has no description: write a comment above it", key.Line, name)
	}
	var plain any
	if err := value.Decode(&plain); err != nil {
		return nil, fmt.Errorf("values.yaml:%d: %s: %w", key.Line, name, err)
	}
	initial, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("values.yaml:%d: %s: %w", key.Line, name, err)
	}
	return []Row{{Name: name, Type: typeOf(of), Default: string(initial), Meaning: said}}, nil
}

// holdsAny reports whether the schema has any key of a mapping. If it has none, the mapping is one value: labels, for
// example, are chosen by the user.
func holdsAny(of schema, mapping *yaml.Node) bool {
	for pair := range slices.Chunk(mapping.Content, 2) {
		if _, known := of.Properties[pair[0].Value]; known {
			return true
		}
	}
	return false
}

// meaning is the comment above a key, as one paragraph.
func meaning(key *yaml.Node) string {
	var words []string
	for line := range strings.Lines(key.HeadComment) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "#"))...)
	}
	return strings.Join(words, " ")
}

func typeOf(of schema) string {
	if len(of.Enum) > 0 {
		return "`" + strings.Join(of.Enum, "`, `") + "`"
	}
	switch named := of.Type.(type) {
	case string:
		return named
	case []any:
		var all []string
		for _, one := range named {
			all = append(all, fmt.Sprint(one))
		}
		return strings.Join(all, " or ")
	}
	return "any"
}
