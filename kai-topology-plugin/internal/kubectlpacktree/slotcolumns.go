package kubectlpacktree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/kai-topology-plugin/internal/shapes"
)

// mostSlots and fewSlots are how many shapes have a column: where there is room, and on terminals of less columns than
// wide.
const mostSlots, fewSlots = 4, 2

// shapesFlag reads the shapes that people ask about.
type shapesFlag []string

func (f *shapesFlag) bind(command *cobra.Command) {
	command.Flags().StringArrayVar((*[]string)(f), "shape", nil,
		"count how many more gangs of this shape fit: "+shapes.Form)
}

func (f *shapesFlag) parse(command *cobra.Command) ([]shapes.Named, error) {
	named, err := shapes.Parse(*f)
	if err != nil {
		return nil, usage(command, "--shape: %v", err)
	}
	return named, nil
}

// slotColumn says how many more gangs of one shape fit.
type slotColumn struct {
	// head is the name of the shape.
	head, asks string
	// at is the place of the shape in the slots of domains.
	at, width int
}

// slotColumns returns the columns that there is room for.
func (l *layout) slotColumns(known []overview.Shape, rows []row) []slotColumn {
	most := mostSlots
	if l.pen.Columns > 0 && l.pen.Columns < wide {
		most = fewSlots
	}
	room := l.pen.Columns - l.width()
	for _, row := range rows {
		if out := outText(row.domain); out != "" {
			room = min(room, l.pen.Columns-l.width()-2-drawing.Width(out))
		}
	}
	var columns []slotColumn
	for at, shape := range known[:min(most, len(known))] {
		column := slotColumn{head: shape.Name, asks: shape.Asks, at: at}
		column.width = drawing.Width(column.head)
		for _, row := range rows {
			column.width = max(column.width, len(column.text(row.domain)))
		}
		if l.pen.Columns > 0 && room < widthOf(columns)+2+column.width {
			break
		}
		columns = append(columns, column)
	}
	return columns
}

// text is the number of a domain; of nodes that stand in no domain of the level there is none.
func (c slotColumn) text(domain *occupancy.Domain) string {
	if c.at >= len(domain.Slots) {
		return "-"
	}
	return strconv.FormatInt(domain.Slots[c.at], 10)
}

func slotCells(columns []slotColumn, domain *occupancy.Domain) string {
	var b strings.Builder
	for _, column := range columns {
		fmt.Fprintf(&b, "  %*s", column.width, column.text(domain))
	}
	return b.String()
}

func widthOf(columns []slotColumn) int {
	width := 0
	for _, column := range columns {
		width += 2 + column.width
	}
	return width
}

// head is the line above the rows.
func (l *layout) head() string {
	line := strings.Repeat(" ", l.width())
	for _, column := range l.slots {
		line += "  " + strings.Repeat(" ", column.width-drawing.Width(column.head)) + column.head
	}
	return line
}

// drawShapes says below the rows what the columns count, and how many shapes have none.
func drawShapes(b *strings.Builder, pen *drawing.Pen, columns []slotColumn, known int) {
	if len(columns) == 0 {
		return
	}
	b.WriteString("\n" + pen.Bold("Slots") + pen.Dim("  how many more gangs fit of") + "\n")
	heads := 0
	for _, column := range columns {
		heads = max(heads, drawing.Width(column.head))
	}
	for _, column := range columns {
		indent := strings.Repeat(" ", heads+4)
		b.WriteString(pen.Wrap("  ", indent, drawing.Pad(column.head, heads)+"  "+column.asks))
	}
	if rest := known - len(columns); rest > 0 {
		fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %s, which -o json has", count(rest, "more shape"))))
	}
}

// sumOfSlots is what domains of one level have together.
func sumOfSlots(domains []*occupancy.Domain) []int64 {
	var sum []int64
	for _, domain := range domains {
		for at, slots := range domain.Slots {
			if at == len(sum) {
				sum = append(sum, 0)
			}
			sum[at] += slots
		}
	}
	return sum
}
