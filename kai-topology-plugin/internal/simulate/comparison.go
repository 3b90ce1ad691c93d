package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/mathext"
)

// confidence is the probability with which an interval of a comparison holds the true difference, if what differs from
// stream to stream is distributed normally.
const confidence = 0.95

// Comparison is what differs between simulations of the same streams.
type Comparison struct {
	// Base is what the others are compared with, and Streams how many streams each was simulated on.
	Base       string  `json:"base"`
	Streams    int     `json:"streams"`
	Confidence float64 `json:"confidence"`
	// Metrics are means over the streams, of Base.
	Metrics Metrics `json:"metrics"`
	// Variants are in the order in which they were asked for.
	Variants []Variant `json:"variants"`
}

// Variant is a simulation that differs from the base in one thing.
type Variant struct {
	Name        string       `json:"name"`
	Differences []Difference `json:"differences"`
}

// Difference is that of one figure: means over the streams, and how far the difference is certain.
type Difference struct {
	Metric string `json:"metric"`
	// Base and Value are the means of the two.
	Base  float64 `json:"base"`
	Value float64 `json:"value"`
	// Difference is Value less Base. PlusMinus is half of its confidence interval, of Student's t over the differences
	// on each stream; null for a single stream.
	Difference float64  `json:"difference"`
	PlusMinus  *float64 `json:"plusMinus"`
}

// measured is what was measured of one side of a comparison, on each stream.
type measured struct {
	name string
	runs []Metrics
}

// compare sets the later of some sides against the first. All have as many runs, of the same streams in the same order.
// Figures that one of the runs does not have are left out.
func compare(sides []measured) *Comparison {
	base := sides[0]
	found := &Comparison{
		Base: base.name, Streams: len(base.runs), Confidence: confidence, Metrics: Metrics{}, Variants: []Variant{},
	}
	for _, name := range namesIn(base.runs) {
		found.Metrics[name], _ = interval(valuesOf(base.runs, name))
	}
	for _, side := range sides[1:] {
		variant := Variant{Name: side.name, Differences: []Difference{}}
		for _, name := range namesIn(slices.Concat(base.runs, side.runs)) {
			before, after := valuesOf(base.runs, name), valuesOf(side.runs, name)
			differences := make([]float64, len(before))
			for i := range before {
				differences[i] = after[i] - before[i]
			}
			difference := Difference{Metric: name}
			difference.Base, _ = interval(before)
			difference.Value, _ = interval(after)
			difference.Difference, difference.PlusMinus = interval(differences)
			variant.Differences = append(variant.Differences, difference)
		}
		found.Variants = append(found.Variants, variant)
	}
	return found
}

// namesIn are the figures that all runs have, sorted.
func namesIn(runs []Metrics) []string {
	names := slices.Sorted(maps.Keys(runs[0]))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(runs, func(run Metrics) bool {
			_, has := run[name]
			return !has
		})
	})
}

func valuesOf(runs []Metrics, name string) []float64 {
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = run[name]
	}
	return values
}

// interval is the mean of values and half of its confidence interval; nil for a single value.
func interval(values []float64) (mean float64, half *float64) {
	count := float64(len(values))
	for _, value := range values {
		mean += value / count
	}
	if count < 2 {
		return mean, nil
	}
	squares := 0.0
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	width := student(1-confidence, count-1) * math.Sqrt(squares/(count-1)/count)
	return mean, &width
}

// student is what the absolute value of a variable with Student's distribution exceeds with a probability. The
// distribution is a regularized incomplete beta function: Abramowitz and Stegun, 26.7.1.
func student(probability, freedom float64) float64 {
	return math.Sqrt(freedom * (1/mathext.InvRegIncBeta(freedom/2, 0.5, probability) - 1))
}

// JSON writes the comparison as one object.
func (c *Comparison) JSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(c)
}

// Text writes a table for people. Differences that are not certain have no star.
func (c *Comparison) Text(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Variants) == 0 {
		fmt.Fprintf(out, "%s, mean of %s\n", c.Base, counted(c.Streams))
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			fmt.Fprintf(out, "%s\t%s\n", name, figure(c.Metrics[name]))
		}
	}
	for i, variant := range c.Variants {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s against %s, means of %s\n", variant.Name, c.Base, counted(c.Streams))
		fmt.Fprintf(out, "METRIC\tBASE\tVALUE\tDIFFERENCE\t±\t\n")
		for _, row := range variant.rows() {
			fmt.Fprintln(out, strings.Join(row, "\t"))
		}
	}
	return out.Flush()
}

func counted(streams int) string {
	if streams == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("%d streams", streams)
}

// rows are what differs as text: the figure, base, value, difference, the half of its interval, and a star if zero is
// outside of that.
func (v *Variant) rows() (rows [][]string) {
	for _, d := range v.Differences {
		half, star := "–", ""
		if d.PlusMinus != nil {
			half = figure(*d.PlusMinus)
			if math.Abs(d.Difference) > *d.PlusMinus {
				star = "*"
			}
		}
		rows = append(rows, []string{d.Metric, figure(d.Base), figure(d.Value), figure(d.Difference), half, star})
	}
	return rows
}

// figure is a number with as many digits as anybody reads.
func figure(value float64) string {
	if math.Abs(value) >= 1000 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3g", value)
}
