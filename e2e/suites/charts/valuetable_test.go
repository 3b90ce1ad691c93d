package charts_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"packtree.dev/shared/golden"
)

// The table is between these lines of a README; everything else there is written by hand.
const (
	tableBegins = "<!-- values: made by make generate out of values.yaml and values.schema.json -->\n"
	tableEnds   = "<!-- end of values -->"
)

// TestValueTables compares the tables of values in the charts' READMEs, which -update writes, with values.yaml, which
// has the names, their order, defaults and meanings, and values.schema.json, which has the types.
func TestValueTables(t *testing.T) {
	for chart := range charts {
		t.Run(chart, func(t *testing.T) {
			before, rest, begins := strings.Cut(string(read(t, chart, "README.md")), tableBegins)
			_, after, ends := strings.Cut(rest, tableEnds)
			if !begins || !ends {
				t.Fatalf("no place for the table: write the lines %q and %q", tableBegins, tableEnds)
			}
			var described schema
			require.NoError(t, json.Unmarshal(read(t, chart, "values.schema.json"), &described))
			var values yaml.Node
			require.NoError(t, yaml.Unmarshal(read(t, chart, "values.yaml"), &values))
			table := "\n| value | type | default | meaning |\n|---|---|---|---|\n" + rowsOf(t, "", values.Content[0], described)
			golden.Equal(t, filepath.Join(chartPath(t, chart), "README.md"), before+tableBegins+table+"\n"+tableEnds+after)
		})
	}
}

// rowsOf are the rows of a mapping. A row without a type is a heading for those below it.
func rowsOf(t *testing.T, prefix string, mapping *yaml.Node, described schema) string {
	t.Helper()
	var rows strings.Builder
	for pair := range slices.Chunk(mapping.Content, 2) {
		name, value, of := prefix+pair[0].Value, pair[1], described.Properties[pair[0].Value]
		// The comment above a key, as one paragraph.
		meaning := strings.Join(strings.Fields(strings.ReplaceAll(pair[0].HeadComment, "#", "")), " ")
		if of.hasAny(value) {
			if meaning != "" {
				fmt.Fprintf(&rows, "| `%s` |  |  | %s |\n", name, cell(meaning))
			}
			rows.WriteString(rowsOf(t, name+".", value, of))
			continue
		}
		if meaning == "" {
			meaning = of.Description
		}
		if meaning == "" {
			t.Errorf("values.yaml:%d: %s has no description: write a comment above it", pair[0].Line, name)
		}
		var plain any
		require.NoError(t, value.Decode(&plain))
		initial, err := json.Marshal(plain)
		require.NoError(t, err)
		fmt.Fprintf(&rows, "| `%s` | %s | `%s` | %s |\n", name, of.typeName(),
			strings.ReplaceAll(string(initial), "|", `\|`), cell(meaning))
	}
	return rows.String()
}

// hasAny reports whether the schema has any key of a mapping. If it has none, the mapping is one value: labels, for
// example, are chosen by the user.
func (s schema) hasAny(value *yaml.Node) bool {
	if value.Kind != yaml.MappingNode {
		return false
	}
	return slices.ContainsFunc(slices.Collect(slices.Chunk(value.Content, 2)), func(pair []*yaml.Node) bool {
		_, known := s.Properties[pair[0].Value]
		return known
	})
}

// typeName is a type, types, or the allowed values.
func (s schema) typeName() string {
	if len(s.Enum) > 0 {
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	}
	if s.Type == nil {
		return "any"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Type), "[]"), " ", " or ")
}

// cell escapes bars, which would end a cell, and <a placeholder>, which would be read as HTML and not shown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
