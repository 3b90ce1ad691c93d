package simulate

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
)

// CSV writes a line per gang, with a heading.
func (r *Result) CSV(w io.Writer) error {
	known := map[string]bool{}
	for i := range r.Gangs {
		for level := range r.Gangs[i].LeastDomains {
			known[level] = true
		}
	}
	levels := slices.Sorted(maps.Keys(known))
	heading := []string{"name", "arrived", "started", "ended", "state", "pods", "nodes", "preemptions", "moves"}
	for _, level := range levels {
		heading = append(heading, "domains "+level, "leastDomains "+level)
	}
	out := csv.NewWriter(w)
	if err := out.Write(heading); err != nil {
		return err
	}
	for i := range r.Gangs {
		gang := &r.Gangs[i]
		pods := 0
		for _, count := range gang.Nodes {
			pods += count
		}
		row := []string{
			gang.Name, seconds(&gang.Arrived), seconds(gang.Started), seconds(gang.Ended), gang.State,
			strconv.Itoa(pods), strconv.Itoa(len(gang.Nodes)), strconv.Itoa(gang.Preemptions), strconv.Itoa(gang.Moves),
		}
		for _, level := range levels {
			row = append(row, count(gang.Domains, level), count(gang.LeastDomains, level))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func seconds(at *float64) string {
	if at == nil {
		return ""
	}
	return strconv.FormatFloat(*at, 'f', -1, 64)
}

func count(counts map[string]int, level string) string {
	if n, ok := counts[level]; ok {
		return strconv.Itoa(n)
	}
	return ""
}
