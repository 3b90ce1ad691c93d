package overview

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/shapes"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/packing"
)

// Shape is what gangs ask for about which somebody asks.
type Shape struct {
	// Name is that of the metrics of the scheduler.
	Name string `json:"name"`
	// Asks says what the gangs ask for.
	Asks string `json:"asks"`
	// Level is the node label key of the level in one domain of which a gang has to stand; empty if it may stand
	// anywhere.
	Level string `json:"level,omitempty"`
}

// countSlots has each domain of the topologies say how many more gangs fit there, of the shapes that are asked about.
func countSlots(cluster *inventory.Inventory, table *turns.Table, seen *Overview, asked Question) error {
	levels := map[string][]string{}
	for _, topology := range seen.Topologies {
		if topology.Name != "" {
			levels[topology.Name] = topology.Levels
		}
	}
	named, asks, err := namedShapes(asked.Shapes, levels)
	if err != nil {
		return err
	}
	trial, err := table.Begin(levels)
	if err != nil {
		return err
	}
	defer trial.End()
	counted := capacity.Slots(trial, levels, named, capacity.Bounds{PerLevel: math.MaxInt, InAll: math.MaxInt})
	required := map[string]string{}
	for i := range named {
		required[named[i].Name] = named[i].RequiredLevel
	}
	hosts := map[string]string{}
	for _, node := range cluster.Nodes {
		hosts[node.Name] = packing.Path{node.Labels[corev1.LabelHostname]}.String()
	}
	for i := range seen.Topologies {
		topology := &seen.Topologies[i]
		for ofShape := range slices.Chunk(of(counted, topology.Name), max(1, len(topology.Levels))) {
			name := ofShape[0].Shape
			topology.Shapes = append(topology.Shapes, Shape{Name: name, Asks: asks[name], Level: required[name]})
			enter(topology, ofShape, hosts)
		}
	}
	return nil
}

// of returns what was counted of one topology: for each shape its levels, the broadest first.
func of(counted []capacity.LevelSlots, topology string) []capacity.LevelSlots {
	var own []capacity.LevelSlots
	for _, level := range counted {
		if level.Topology == topology {
			own = append(own, level)
		}
	}
	return own
}

// enter adds the slots of one shape to the domains of a topology. Hosts has, by the name of a node, that of its domain
// where the narrowest level is the host.
func enter(topology *Topology, levels []capacity.LevelSlots, hosts map[string]string) {
	slots := map[string]int64{}
	for _, level := range levels {
		for _, domain := range level.Domains {
			slots[domain.Path.String()] = domain.Slots
		}
	}
	topology.Cluster.Slots = append(topology.Cluster.Slots, levels[0].Cluster)
	var visit func(above *occupancy.Domain)
	visit = func(above *occupancy.Domain) {
		for _, domain := range above.Domains {
			path := domain.Path
			if domain.Level == corev1.LabelHostname {
				path = strings.TrimPrefix(above.Path+"/"+hosts[domain.Name], "/")
			}
			if fitting, counted := slots[path]; counted {
				domain.Slots = append(domain.Slots, fitting)
			}
			visit(domain)
		}
	}
	visit(topology.Cluster)
}

// namedShapes returns the shapes that are asked about, and by their names what they ask for. Nodes that are not ready
// take none.
func namedShapes(asked []shapes.Named, topologies map[string][]string) ([]capacity.Shape, map[string]string, error) {
	asks := map[string]string{}
	asked = slices.Clone(asked)
	for i := range asked {
		shape := &asked[i]
		var err error
		if shape.RequiredLevel, err = levelOf(shape, topologies); err != nil {
			return nil, nil, err
		}
		if asks[shape.Name], err = shape.Asks(); err != nil {
			return nil, nil, fmt.Errorf("--shape %s: %w", shape.Name, err)
		}
	}
	found, err := shapes.FromConfiguration(asked)
	for i := range found {
		takes := found[i].Takes
		found[i].Takes = func(node *corev1.Node) bool { return occupancy.Ready(node) && takes(node) }
	}
	return found, asks, err
}

// levelOf is the label key of the level that a shape requires.
func levelOf(shape *shapes.Named, topologies map[string][]string) (string, error) {
	wanted := shape.RequiredLevel
	there := map[string]bool{}
	for _, levels := range topologies {
		for _, key := range levels {
			there[key] = true
		}
	}
	if wanted == "" || there[wanted] {
		return wanted, nil
	}
	keys := slices.Sorted(maps.Keys(there))
	for _, key := range keys {
		if LevelName(key) == wanted {
			return key, nil
		}
	}
	return "", fmt.Errorf("--shape %s: no Topology has level %q, there is: %s",
		shape.Name, wanted, strings.Join(keys, ", "))
}

// LevelName is what people call a level: the last part of the label key, and host for the host.
func LevelName(key string) string {
	if key == corev1.LabelHostname {
		return "host"
	}
	return key[strings.LastIndex(key, "/")+1:]
}
