package valuetables

import (
	"fmt"
	"strings"
)

// The table is between these lines of a README; everything else there is written by hand.
const (
	begin = "<!-- values: made by make generate out of values.yaml and values.schema.json -->"
	end   = "<!-- end of values -->"
)

// Table writes the rows in Markdown.
func Table(rows []Row) string {
	var out strings.Builder
	out.WriteString("| value | type | default | meaning |\n|---|---|---|---|\n")
	for _, row := range rows {
		initial := ""
		if row.Type != "" {
			initial = "`" + row.Default + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", row.Name, cell(row.Type), cell(initial),
			cell(angles.Replace(row.Meaning)))
	}
	return out.String()
}

// cell escapes bars, which would end the cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// angles escapes <a placeholder>, which would be read as HTML and not shown.
var angles = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// Replaced is a README with the table in place of its old one.
func Replaced(readme, table string) (string, error) {
	before, rest, begins := strings.Cut(readme, begin+"\n")
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("no place for the table: write the lines %q and %q", begin, end)
	}
	return before + begin + "\n\n" + table + "\n" + end + after, nil
}
