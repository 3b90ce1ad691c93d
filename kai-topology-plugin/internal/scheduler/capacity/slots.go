package capacity

import (
	"maps"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/shared/packing"
)

// LevelSlots is how many more gangs of a shape fit into the domains of a level.
type LevelSlots struct {
	// Shape is its name, Topology that of the topology, and Key the node label key of the level.
	Shape, Topology, Key string
	// Slots is the sum over all domains of the level.
	Slots int64
	// Domains are all of the level, sorted by path; nil if there are too many.
	Domains []DomainSlots
}

// DomainSlots is how many more gangs fit into one domain at the same time.
type DomainSlots struct {
	Path  packing.Path
	Slots int64
}

// Slots counts on the packing engine of a trial how many more gangs of each shape fit into each domain of the
// topologies that have the shape's level: the largest number that fits at the same time. A gang stands in one domain of
// the required level. Counted in a narrower domain it stands in that one. Topologies are known to the trial, and have
// the node label keys of their levels, the broadest first. The result is in the order of the shapes, then by topology,
// the broadest level first. A node counts as far down as it has every label from the top.
func Slots(trial *clusterview.Trial, topologies map[string][]string, shapes []Shape, bounds Bounds) []LevelSlots {
	var counted []LevelSlots
	listed := 0
	for i := range shapes {
		shape := &shapes[i]
		asked := shape.asked(trial)
		for _, name := range slices.Sorted(maps.Keys(topologies)) {
			keys := topologies[name]
			required := slices.Index(keys, shape.RequiredLevel)
			if shape.RequiredLevel != "" && required < 0 {
				continue
			}
			room := trial.Cluster.Room(asked, name)
			count := count{pods: shape.Pods, required: required, levels: make([]LevelSlots, len(keys))}
			count.in(&room, -1)
			for l, level := range count.levels {
				level.Shape, level.Topology, level.Key = shape.Name, name, keys[l]
				if domains := len(level.Domains); domains <= bounds.PerLevel && listed+domains <= bounds.InAll {
					listed += domains
				} else {
					level.Domains = nil
				}
				counted = append(counted, level)
			}
		}
	}
	return counted
}

// count counts the gangs of one shape in one topology.
type count struct {
	pods int64
	// required is the index of the level that a gang requires, -1 for none.
	required int
	levels   []LevelSlots
}

// in returns how many gangs fit into a domain of a level, -1 for the whole cluster, and enters it and those within. The
// pods are alike, so that nothing counts but how many there is room for.
func (c *count) in(room *packing.Room, level int) int64 {
	slots := int64(0)
	if level >= c.required {
		slots = room.Pods / c.pods
	}
	for i := range room.Within {
		if within := c.in(&room.Within[i], level+1); level < c.required {
			slots += within
		}
	}
	if level >= 0 {
		at := &c.levels[level]
		at.Slots, at.Domains = at.Slots+slots, append(at.Domains, DomainSlots{Path: room.Path, Slots: slots})
	}
	return slots
}
