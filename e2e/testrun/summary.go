package testrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// share is a line of the summary.
type share struct {
	name             string
	took, cpu        time.Duration
	packages, passed int
}

// summarize has the time of each suite and module, the packages with most CPU time, the failures, and counts of tests
// at the end, on a line of their own. A package that never ended has failed. All is the CPU time of the whole run; the
// compiler used what no package did.
func summarize(results []*result, took, all time.Duration) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\ntime\tcpu\ttests\tpackages\t")
	for _, part := range shares(results) {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", seconds(part.took), seconds(part.cpu), part.passed,
			part.packages, part.name)
	}
	fmt.Fprintf(table, "%s\t%s\t\t\tfrom start to end, with compiling\n", seconds(took), seconds(all))
	table.Flush()
	good, bad := 0, 0
	for _, result := range results {
		good += result.passed
		bad += failures(&out, result)
	}
	fmt.Fprintf(&out, "\n%d passed, %d failed\n", good, bad)
	return out.String()
}

func shares(results []*result) []share {
	parts := map[string]*share{}
	var all []*share
	for _, result := range results {
		part := parts[result.part()]
		if part == nil {
			part = &share{name: result.part()}
			parts[part.name], all = part, append(all, part)
		}
		part.took += result.took
		part.cpu += result.cpu
		part.packages++
		part.passed += result.passed
	}
	slices.SortStableFunc(
		all, func(a, b *share) int { return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.took, a.took)) })
	var shares []share
	for _, part := range all {
		shares = append(shares, *part)
	}
	return shares
}

// failures lists the failures of a package with what they said, and returns their number: its tests, or the package
// itself if it ended otherwise.
func failures(out *strings.Builder, of *result) int {
	if of.state == passed || of.state == skipped {
		return 0
	}
	fmt.Fprintf(out, "\nFAIL %s: %s%s\n", of.name, of.log.Name(), of.why())
	return max(1, len(of.failed))
}
