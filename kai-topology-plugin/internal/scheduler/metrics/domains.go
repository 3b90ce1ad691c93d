package metrics

import (
	"strconv"
	"sync/atomic"

	"k8s.io/component-base/metrics"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
)

const (
	// maxDomains is how many domains a level may have for each to be reported by itself: zones and racks, but not the
	// hosts of a large cluster.
	maxDomains = 256
	// maxListed is how many domains are reported by themselves in all; levels past it are given by their totals.
	maxListed = 2048
)

var (
	domainFree = metrics.NewDesc(subsystem+"_domain_free",
		"Free capacity of a topology domain: what its nodes offer less what their pods ask for, without cordoned "+
			"nodes; CPU in cores, else in units or bytes. Reported for levels of at most 256 domains, broadest first "+
			"up to 2048 domains in all.",
		[]string{"topology", "level", "domain", "resource"}, nil, metrics.STABLE, "")
	domainOffered = metrics.NewDesc(subsystem+"_domain_allocatable",
		"What the nodes of a topology domain offer to pods, without cordoned nodes. "+
			"Reported for the domains of domain_free.",
		[]string{"topology", "level", "domain", "resource"}, nil, metrics.STABLE, "")
	levelDomains = metrics.NewDesc(subsystem+"_level_domains",
		"How many domains a level of a Topology has. Reported for every level, also those too large to list.",
		[]string{"topology", "level"}, nil, metrics.STABLE, "")
	levelMost = metrics.NewDesc(subsystem+"_level_largest_free",
		"The most that is free in any one domain of a level: a gang that requires the level and asks for more of the "+
			"resource than this cannot be placed, however much is free in all. Reported for every level.",
		[]string{"topology", "level", "resource"}, nil, metrics.STABLE, "")
	domainSlots = metrics.NewDesc(subsystem+"_domain_slots",
		"How many more gangs of a shape fit into a topology domain at the same time, each in one domain of the level "+
			"that the shape requires, by what is free and node selectors. The configuration names the shapes. "+
			"Reported for levels of at most 256 domains, up to 2048 series in all.",
		[]string{"shape", "topology", "level", "domain"}, nil, metrics.STABLE, "")
	levelSlots = metrics.NewDesc(subsystem+"_level_slots",
		"How many more gangs of a shape fit into the domains of a level together, each in one domain of that level "+
			"and of the one that the shape requires. Reported for every level.",
		[]string{"shape", "topology", "level"}, nil, metrics.STABLE, "")
	relations = metrics.NewDesc(subsystem+"_relations",
		"Relations of gangs with running pods, by whether they are required or preferred "+
			"and whether these pods meet them.",
		[]string{"requirement", "holds"}, nil, metrics.STABLE, "")
	domainDescs = []*metrics.Desc{
		domainFree, domainOffered, levelDomains, levelMost, domainSlots, levelSlots, relations,
	}
)

// Domains count what is in domains, as the running scheduler knows them.
type Domains interface {
	// Capacity is what is free in domains, and what gangs fit there.
	Capacity(capacity.Bounds) ([]capacity.Level, []capacity.LevelSlots)
	// Relations says how gangs stand to one another and in themselves.
	Relations() relationstatus.Tally
}

var domains atomic.Pointer[Domains]

// ServeDomains has what is in domains counted whenever metrics are read.
func ServeDomains(counted Domains) { domains.Store(&counted) }

// domainCollector counts the capacity when it is asked for.
type domainCollector struct {
	metrics.BaseStableCollector
}

// DescribeWithStability names the metrics.
func (c *domainCollector) DescribeWithStability(descs chan<- *metrics.Desc) {
	for _, desc := range domainDescs {
		descs <- desc
	}
}

// CollectWithStability reads the capacity.
func (c *domainCollector) CollectWithStability(found chan<- metrics.Metric) {
	counted := domains.Load()
	if counted == nil {
		return
	}
	read := *counted
	gauge := func(desc *metrics.Desc, value float64, labels ...string) {
		found <- metrics.NewLazyConstMetric(desc, metrics.GaugeValue, value, labels...)
	}
	free, slots := read.Capacity(capacity.Bounds{PerLevel: maxDomains, InAll: maxListed})
	for _, level := range free {
		gauge(levelDomains, float64(level.Count), level.Topology, level.Key)
		for _, resource := range level.Largest {
			gauge(levelMost, resource.Free, level.Topology, level.Key, resource.Name)
		}
		for _, domain := range level.Domains {
			for _, resource := range domain.Resources {
				gauge(domainFree, resource.Free, level.Topology, level.Key, domain.Path, resource.Name)
				gauge(domainOffered, resource.Offered, level.Topology, level.Key, domain.Path, resource.Name)
			}
		}
	}
	for _, level := range slots {
		gauge(levelSlots, float64(level.Slots), level.Shape, level.Topology, level.Key)
		for _, domain := range level.Domains {
			gauge(domainSlots, float64(domain.Slots), level.Shape, level.Topology, level.Key, domain.Path.String())
		}
	}
	tally := read.Relations()
	for requirement, required := range map[string]bool{"required": true, "preferred": false} {
		for _, holds := range []bool{true, false} {
			gauge(relations, float64(tally.Count(required, holds)), requirement, strconv.FormatBool(holds))
		}
	}
}
