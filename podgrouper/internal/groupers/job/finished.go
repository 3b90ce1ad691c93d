package job

import (
	"strings"

	"packtree.dev/podgrouper/internal/grouping"
)

// indexRange are the indices from first to last.
type indexRange struct{ first, last int32 }

// ranges are in order and share no index.
type ranges []indexRange

// finished returns the indices of an Indexed Job that get no more pods, because they have succeeded or have failed for
// good.
func finished(job grouping.Fields) ranges {
	succeeded := parseRanges(job.Text("status", "completedIndexes"))
	return append(succeeded, parseRanges(job.Text("status", "failedIndexes"))...)
}

// parseRanges reads indices as the Job controller writes them, such as 1,3-5,7. Malformed parts count as empty.
func parseRanges(written string) ranges {
	var parsed ranges
	for part := range strings.SplitSeq(written, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, firstKnown := grouping.ParseIndex(from)
		last, lastKnown := grouping.ParseIndex(to)
		if firstKnown && lastKnown {
			parsed = append(parsed, indexRange{first, last})
		}
	}
	return parsed
}

// count returns how many of the indices from, up to but without to, are in the ranges.
func (r ranges) count(from, to int32) int32 {
	var count int32
	for _, each := range r {
		count += max(0, min(to, each.last+1)-max(from, each.first))
	}
	return count
}
