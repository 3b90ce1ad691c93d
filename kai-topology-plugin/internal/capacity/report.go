package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxResources is how many resources are told of: devices first, by name, then CPU and memory, then the rest.
const maxResources = 8

// Level is the capacity of one level of a topology.
type Level struct {
	// Topology is its name, and Key the node label key of the level.
	Topology, Key string
	// Count is how many domains the level has.
	Count int
	// Largest has, by resource, the most that is free in one domain, and the most that is offered in one.
	Largest []Resource
	// Domains are all of the level, sorted by path; nil if there are too many.
	Domains []Domain
}

// Domain is the capacity of one domain.
type Domain struct {
	// Path is its label values from the broadest level, joined with "/".
	Path      string
	Resources []Resource
}

// Resource is an amount: CPU in cores, else in units or bytes.
type Resource struct {
	Name          string
	Free, Offered float64
}

// Bounds are how many domains are listed: in a level, all of which are listed or none, and in all.
type Bounds struct {
	PerLevel, InAll int
}

// Report tells of every level, sorted by topology, the broadest level first.
func (t *Tracker) Report(bounds Bounds) []Level {
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.resources.told()
	var report []Level
	listed := 0
	for _, name := range slices.Sorted(maps.Keys(t.topologies)) {
		topology := t.topologies[name]
		for i, key := range topology.levels {
			domains := topology.domains[i]
			level := Level{Topology: name, Key: key, Count: len(domains), Largest: t.largest(domains, told)}
			if len(domains) <= bounds.PerLevel && listed+len(domains) <= bounds.InAll {
				level.Domains = t.list(domains, told)
				listed += len(domains)
			}
			report = append(report, level)
		}
	}
	return report
}

func (t *Tracker) list(domains map[string]*domain, told []int) []Domain {
	list := make([]Domain, 0, len(domains))
	for _, path := range slices.Sorted(maps.Keys(domains)) {
		at := domains[path]
		resources := make([]Resource, 0, len(told))
		for _, number := range told {
			resources = append(resources, t.resource(number, at.free.at(number), at.offered.at(number)))
		}
		list = append(list, Domain{Path: path, Resources: resources})
	}
	return list
}

func (t *Tracker) largest(domains map[string]*domain, told []int) []Resource {
	resources := make([]Resource, 0, len(told))
	for _, number := range told {
		var free, offered int64
		for _, at := range domains {
			free, offered = max(free, at.free.at(number)), max(offered, at.offered.at(number))
		}
		resources = append(resources, t.resource(number, free, offered))
	}
	return resources
}

func (t *Tracker) resource(number int, free, offered int64) Resource {
	unit := 1.0
	if t.resources.names[number] == string(corev1.ResourceCPU) {
		unit = 1000 // Kept in millicores.
	}
	return Resource{Name: t.resources.names[number], Free: float64(free) / unit, Offered: float64(offered) / unit}
}

// told returns the numbers of the resources to tell of.
func (r *resources) told() []int {
	numbers := make([]int, len(r.names))
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortFunc(numbers, func(a, b int) int {
		return cmp.Or(cmp.Compare(importance(r.names[a]), importance(r.names[b])), cmp.Compare(r.names[a], r.names[b]))
	})
	return numbers[:min(len(numbers), maxResources)]
}

func importance(resource string) int {
	switch {
	case strings.Contains(resource, "/"):
		return 0
	case resource == string(corev1.ResourceCPU), resource == string(corev1.ResourceMemory):
		return 1
	default:
		return 2
	}
}
