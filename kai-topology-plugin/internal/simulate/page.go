package simulate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The page and uPlot 1.6.32, an npm package, which draws its charts. The page asks nobody for anything.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.js
	pageJS string
	//go:embed page/uPlot.iife.min.js
	uplotJS string
	//go:embed page/uPlot.min.css
	uplotCSS string
	//go:embed page/uPlot.LICENSE
	uplotLicense string
)

// pageData is what the page shows.
type pageData struct {
	Summary  string     `json:"summary"`
	Device   string     `json:"device"`
	TimeUnit string     `json:"timeUnit"`
	Series   pageSeries `json:"series"`
	// Waits are by size of the gang, and Levels has those of all Topologies that gangs name.
	Waits  []pageWait  `json:"waits"`
	Levels []pageLevel `json:"levels"`
	Idle   []pageIdle  `json:"idle"`
	// Metrics have a name and a value.
	Metrics [][]string `json:"metrics"`
}

// pageComparison is what the page shows of a comparison: Metrics instead of Comparisons if there is nothing to compare
// with.
type pageComparison struct {
	Summary     string        `json:"summary"`
	Comparisons []pageVariant `json:"comparisons,omitempty"`
	Metrics     [][]string    `json:"metrics,omitempty"`
}

// pageVariant has rows as Variant.rows makes them.
type pageVariant struct {
	Name string     `json:"name"`
	Base string     `json:"base"`
	Rows [][]string `json:"rows"`
}

// pageSeries has columns: a value of each for each moment.
type pageSeries struct {
	At         []float64 `json:"at"`
	Allocation []float64 `json:"allocation"`
	Occupancy  []float64 `json:"occupancy"`
	Waiting    []float64 `json:"waiting"`
	Running    []float64 `json:"running"`
}

type pageWait struct {
	Size    string  `json:"size"`
	Half    float64 `json:"half"`
	Most    float64 `json:"most"`
	Longest float64 `json:"longest"`
}

type pageLevel struct {
	Name  string           `json:"name"`
	Sizes []*pageLevelSize `json:"sizes"`
}

type pageLevelSize struct {
	Size  string  `json:"size"`
	Used  float64 `json:"used"`
	Least float64 `json:"least"`
}

type pageIdle struct {
	Why     string  `json:"why"`
	Percent float64 `json:"percent"`
}

// HTML writes a page with plots, which needs no other file.
func (r *Result) HTML(w io.Writer) error { return writePage(w, r.pageData()) }

// HTML writes a page with the differences, which needs no other file.
func (c *Comparison) HTML(w io.Writer) error {
	summary := fmt.Sprintf("%s is what others are compared with, on %s.", c.Base, counted(c.Streams))
	data := &pageComparison{Summary: summary}
	for _, variant := range c.Variants {
		data.Comparisons = append(data.Comparisons, pageVariant{Name: variant.Name, Base: c.Base, Rows: variant.rows()})
	}
	if len(c.Variants) == 0 {
		data.Metrics = c.Metrics.rows()
	}
	return writePage(w, data)
}

func writePage(w io.Writer, of any) error {
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"/*UPLOT-CSS*/", uplotCSS, "/*UPLOT-LICENSE*/", "/*\n"+uplotLicense+"*/", "/*UPLOT-JS*/", uplotJS,
		"/*PAGE-JS*/", pageJS, "/*DATA*/", string(data),
	).WriteString(w, pageHTML)
	return err
}

// rows are the figures as text, sorted.
func (m Metrics) rows() (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		rows = append(rows, []string{name, figure(m[name])})
	}
	return rows
}

func (r *Result) pageData() *pageData {
	unit, seconds := unitOf(r.Until)
	data := &pageData{Device: r.Device, TimeUnit: unit, Waits: []pageWait{}, Levels: []pageLevel{}}
	data.Summary = fmt.Sprintf("%s in %.4g %s, on %d nodes.", r.Summary(), r.Until/seconds, unit, len(r.terrain.names))
	data.Series = r.columns(seconds)
	waits, levels := map[int][]float64{}, map[string]map[int][]*Gang{}
	for gang := range r.Gangs() {
		if gang.Started == nil {
			continue
		}
		pods := 0
		for count := range maps.Values(gang.Nodes) {
			pods += count
		}
		size := sizeClass(pods)
		waits[size] = append(waits[size], (*gang.Started-gang.Arrived)/seconds)
		for level := range gang.Domains {
			if levels[level] == nil {
				levels[level] = map[int][]*Gang{}
			}
			levels[level][size] = append(levels[level][size], gang)
		}
	}
	for _, size := range slices.Sorted(maps.Keys(waits)) {
		of := slices.Sorted(slices.Values(waits[size]))
		data.Waits = append(data.Waits, pageWait{
			Size: nameOf(size), Half: quantile(of, 0.5), Most: quantile(of, 0.9), Longest: of[len(of)-1],
		})
	}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		data.Levels = append(data.Levels, pageLevel{Name: name, Sizes: domainsBySize(name, levels[name])})
	}
	data.Idle, data.Metrics = r.idleShares(), r.Metrics().rows()
	return data
}

// unitOf is the unit in which times are read best, and its seconds.
func unitOf(until float64) (name string, seconds float64) {
	switch {
	case until < 600:
		return "seconds", 1
	case until < 36000:
		return "minutes", 60
	case until < 10*86400:
		return "hours", 3600
	}
	return "days", 86400
}

func domainsBySize(level string, gangs map[int][]*Gang) []*pageLevelSize {
	var sizes []*pageLevelSize
	for _, size := range slices.Sorted(maps.Keys(gangs)) {
		sum := &pageLevelSize{Size: nameOf(size)}
		for _, gang := range gangs[size] {
			sum.Used += float64(gang.Domains[level]) / float64(len(gangs[size]))
			sum.Least += float64(gang.LeastDomains[level]) / float64(len(gangs[size]))
		}
		sizes = append(sizes, sum)
	}
	return sizes
}

// sizeClass is the largest power of two that is not above a number of pods.
func sizeClass(pods int) int {
	class := 1
	for class*2 <= pods {
		class *= 2
	}
	return class
}

func nameOf(class int) string {
	if class == 1 {
		return "1"
	}
	return fmt.Sprintf("%d–%d", class, class*2-1)
}

// quantile is the smallest of sorted values that a share of them does not exceed.
func quantile(sorted []float64, share float64) float64 {
	at := int(share * float64(len(sorted)))
	if float64(at) == share*float64(len(sorted)) {
		at--
	}
	return sorted[max(0, at)]
}

// maxMoments is how many moments the page shows at most: more than a screen has columns.
const maxMoments = 2000

// columns are means over equal times, or, where there are fewer moments than that, what was in use from each on.
func (r *Result) columns(unit float64) pageSeries {
	var columns pageSeries
	at := slices.Index(r.names, r.Device)
	if at < 0 || len(r.series) == 0 {
		return columns
	}
	capacity := float64(r.terrain.capacityOf(r.Device))
	width := r.Until / maxMoments
	if len(r.series) <= maxMoments {
		width = 0
	}
	var used, waiting, running, since, total float64
	begun := r.series[0].at
	for i, sample := range r.series {
		until := r.Until
		if i+1 < len(r.series) {
			until = r.series[i+1].at
		}
		span := until - sample.at
		used += float64(sample.used[at]) * span
		waiting, running = waiting+float64(sample.waiting)*span, running+float64(sample.running)*span
		if since = until - begun; since < width && i+1 < len(r.series) || since == 0 && i > 0 {
			continue
		}
		total += used
		columns.At = append(columns.At, begun/unit)
		columns.Waiting = append(columns.Waiting, mean(waiting, since, float64(sample.waiting)))
		columns.Running = append(columns.Running, mean(running, since, float64(sample.running)))
		columns.Allocation = append(columns.Allocation, mean(used, since, float64(sample.used[at]))/max(1, capacity))
		columns.Occupancy = append(columns.Occupancy, mean(total, until, float64(sample.used[at]))/max(1, capacity))
		used, waiting, running, begun = 0, 0, 0, until
	}
	return columns
}

func mean(sum, over, otherwise float64) float64 {
	if over == 0 {
		return otherwise
	}
	return sum / over
}

// idleShares are percents of what was idle.
func (r *Result) idleShares() []pageIdle {
	shares := []pageIdle{
		{"no demand", r.Idle.NoDemand}, {"filters", r.Idle.Filters}, {"reserved", r.Idle.Reserved},
		{"unavoidable", r.Idle.Unavoidable}, {"avoidable", r.Idle.Avoidable},
	}
	total := 0.0
	for _, share := range shares {
		total += share.Percent
	}
	for i := range shares {
		shares[i].Percent = 100 * shares[i].Percent / max(total, 1e-9)
	}
	return shares
}
