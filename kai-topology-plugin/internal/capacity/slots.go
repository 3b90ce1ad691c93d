package capacity

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/packing"
)

// Shape is what gangs that are alike ask for: so many alike pods, all of them in one domain of a level.
type Shape struct {
	// Name distinguishes it from the others that are counted with it.
	Name string
	// Pods is how many pods a gang has.
	Pods int64
	// Requests is what each pod takes of its node.
	Requests packing.Resources
	// RequiredLevel is the node label key of the level in one domain of which the gang has to stand; "" if it may stand
	// anywhere.
	RequiredLevel string
	// Takes reports whether a node may take the pods, whatever is free on it; nil if each may. Nodes that are cordoned
	// or out of service take none, and are not asked about.
	Takes func(*corev1.Node) bool
}

// LevelSlots is how many more gangs of a shape fit into the domains of a level.
type LevelSlots struct {
	// Shape is its name, Topology that of the topology, and Key the node label key of the level.
	Shape, Topology, Key string
	// Slots is the sum over all domains of the level.
	Slots int64
	// Cluster is how many fit into the whole cluster at the same time, the same at every level.
	Cluster int64
	// Domains are all of the level, sorted by path; nil if there are too many.
	Domains []DomainSlots
}

// DomainSlots is how many more gangs fit into one domain at the same time.
type DomainSlots struct {
	// Path is its label values from the broadest level, joined with "/".
	Path  string
	Slots int64
}

// Counter counts slots. It remembers what only depends on the labels and taints of nodes, so that the next count is for
// nothing but what is free. The zero value is ready, for the stocks of one Tracker, and one goroutine at a time.
type Counter struct {
	trees      map[string]*tree
	relabelled int
	taking     map[string]*taking
	free       map[string][]int64
	pods       []int64
}

// Count returns how many more gangs of each shape fit into each domain of the topologies that have the shape's level:
// the largest number that fits at the same time. A gang stands in one domain of the required level. Counted in a
// narrower domain it stands in that one. Topologies have the node label keys of their levels, the broadest first. The
// result is in the order of the shapes, then by topology, the broadest level first. A node counts as far down as it has
// every label from the top.
func (c *Counter) Count(stock Stock, topologies map[string][]string, shapes []Shape, bounds Bounds) []LevelSlots {
	c.follow(stock, topologies, shapes)
	var counted []LevelSlots
	listed := 0
	for i := range shapes {
		shape := &shapes[i]
		pods := c.podsOn(stock, shape)
		for _, name := range slices.Sorted(maps.Keys(topologies)) {
			tree := c.trees[name]
			required := slices.Index(tree.keys, shape.RequiredLevel)
			if shape.RequiredLevel != "" && required < 0 {
				continue
			}
			cluster := tree.count(pods, shape.Pods, required)
			for l, key := range tree.keys {
				level := LevelSlots{Shape: shape.Name, Topology: name, Key: key, Cluster: cluster}
				first, end := tree.first[l], tree.first[l+1]
				for _, fitting := range tree.slots[first:end] {
					level.Slots += fitting
				}
				if count := end - first; count <= bounds.PerLevel && listed+count <= bounds.InAll {
					level.Domains = tree.list(l)
					listed += count
				}
				counted = append(counted, level)
			}
		}
	}
	return counted
}

// follow brings what is remembered in step with the nodes, and forgets what nobody asks for any more.
func (c *Counter) follow(stock Stock, topologies map[string][]string, shapes []Shape) {
	if c.trees == nil || c.relabelled != stock.relabelled {
		c.trees, c.relabelled = map[string]*tree{}, stock.relabelled
	}
	maps.DeleteFunc(c.trees, func(name string, known *tree) bool { return !slices.Equal(known.keys, topologies[name]) })
	for name, keys := range topologies {
		if c.trees[name] == nil {
			c.trees[name] = treeOf(keys, stock.Nodes)
		}
	}
	asked, free := map[string]*taking{}, map[string][]int64{}
	for i := range shapes {
		shape := &shapes[i]
		known := c.taking[shape.Name]
		if known == nil {
			known = &taking{}
		}
		known.follow(stock, shape)
		asked[shape.Name] = known
		for name := range shape.Requests {
			free[name] = c.free[name]
		}
	}
	c.taking, c.free = asked, free
	for name, column := range free {
		free[name] = stock.freeOf(name, column)
	}
}

// freeOf returns how much of a resource is free on each node, in the memory of a slice that is not needed any more.
func (s *Stock) freeOf(resource string, into []int64) []int64 {
	into = slices.Grow(into[:0], len(s.Nodes))[:len(s.Nodes)]
	column, offered := s.columns[resource]
	for i := range s.Nodes {
		into[i] = 0
		if free := s.Nodes[i].free; offered && column < len(free) {
			into[i] = free[column]
		}
	}
	return into
}

// podsOn returns how many pods of a shape fit on each node. The slice is the counter's, until the next shape.
func (c *Counter) podsOn(stock Stock, shape *Shape) []int64 {
	c.pods = slices.Grow(c.pods[:0], len(stock.Nodes))[:len(stock.Nodes)]
	first := true
	// Devices first: they leave the fewest pods, so that the others make no difference on most nodes.
	for _, name := range slices.SortedFunc(maps.Keys(shape.Requests), byImportance) {
		if amount := shape.Requests[name]; amount > 0 {
			limit(c.pods, c.free[name], amount, first)
			first = false
		}
	}
	if first {
		clear(c.pods) // Without requests there is no number.
	}
	for i, taken := range c.taking[shape.Name].taken {
		if !taken {
			c.pods[i] = 0
		}
	}
	return c.pods
}

// limit lowers the pods on each node to those for which there is the amount of one resource.
func limit(pods, free []int64, amount int64, first bool) {
	for i, available := range free {
		if available < amount {
			pods[i] = 0
			continue
		}
		if !first {
			// A multiplication is faster than a division.
			if over, all := bits.Mul64(uint64(pods[i]), uint64(amount)); over == 0 && all <= uint64(available) {
				continue
			}
		}
		pods[i] = available / amount
	}
}

// taking remembers which nodes take the pods of a shape: for each place in the stock the node that was looked at.
type taking struct {
	replaced int
	seen     []*corev1.Node
	taken    []bool
}

func (t *taking) follow(stock Stock, shape *Shape) {
	if t.replaced == stock.replaced {
		return
	}
	t.replaced = stock.replaced
	seen, taken := make([]*corev1.Node, len(stock.Nodes)), make([]bool, len(stock.Nodes))
	copy(seen, t.seen)
	copy(taken, t.taken)
	for i := range stock.Nodes {
		if node := stock.Nodes[i].object; seen[i] != node {
			seen[i], taken[i] = node, inService(node) && (shape.Takes == nil || shape.Takes(node))
		}
	}
	t.seen, t.taken = seen, taken
}

// outOfService begins the keys of the taints by which Kubernetes marks nodes that it found unfit.
const outOfService = "node.kubernetes.io/"

// inService reports whether a node takes new pods at all: it is not cordoned, and the cluster has not found it unfit.
func inService(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return strings.HasPrefix(taint.Key, outOfService) && taint.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// tree is where nodes stand in a topology. Its domains are numbered level by level, the broadest first.
type tree struct {
	keys []string
	// first has, by level, the number of its first domain, and at last how many domains there are.
	first []int
	// paths and parents have, by domain, its path and the domain above it; -1 for none.
	paths   []string
	parents []int
	// narrowest has of each node the narrowest domain that it is in; -1 for none.
	narrowest []int
	// sorted has the domains of a level by their paths, once they are asked for.
	sorted [][]int
	// room and slots are how many pods and gangs fit into each domain, as of the last count.
	room, slots []int64
}

func treeOf(keys []string, nodes []Node) *tree {
	t := &tree{keys: keys, first: []int{0}, narrowest: make([]int, len(nodes)), sorted: make([][]int, len(keys))}
	for i := range nodes {
		t.narrowest[i] = -1
	}
	for _, key := range keys {
		// Of those alone that are in a domain of each level above.
		known := map[child]int{}
		for i := range nodes {
			above := t.narrowest[i]
			value, labelled := nodes[i].Labels[key]
			if level := len(t.first) - 1; !labelled || level > 0 && above < t.first[level-1] {
				continue
			}
			domain, met := known[child{above, value}]
			if !met {
				domain = len(t.paths)
				known[child{above, value}] = domain
				path := packing.Path{value}.String()
				if above >= 0 {
					path = t.paths[above] + "/" + path
				}
				t.paths, t.parents = append(t.paths, path), append(t.parents, above)
			}
			t.narrowest[i] = domain
		}
		t.first = append(t.first, len(t.paths))
	}
	t.room, t.slots = make([]int64, len(t.paths)), make([]int64, len(t.paths))
	return t
}

// child is a domain by the one above it and its own label value.
type child struct {
	above int
	value string
}

// count counts how many gangs fit of so many pods each, all in one domain of the required level, -1 for none, when so
// many pods fit on each node. The pods are alike, so that nothing counts but how many there is room for. It returns how
// many gangs fit into the whole cluster.
func (t *tree) count(podsOn []int64, pods int64, required int) int64 {
	clear(t.room)
	clear(t.slots)
	if pods <= 0 {
		return 0
	}
	var room, slots int64
	for i, domain := range t.narrowest {
		room += podsOn[i]
		if domain >= 0 {
			t.room[domain] += podsOn[i]
		}
	}
	for l := len(t.keys) - 1; l >= 0; l-- {
		for domain := t.first[l]; domain < t.first[l+1]; domain++ {
			if room := t.room[domain]; l >= required && room >= pods {
				t.slots[domain] = room / pods
			}
			if above := t.parents[domain]; above >= 0 {
				t.room[above] += t.room[domain]
				if l <= required {
					t.slots[above] += t.slots[domain]
				}
			} else {
				slots += t.slots[domain]
			}
		}
	}
	if required < 0 {
		return room / pods
	}
	return slots
}

func (t *tree) list(level int) []DomainSlots {
	if t.sorted[level] == nil {
		for domain := t.first[level]; domain < t.first[level+1]; domain++ {
			t.sorted[level] = append(t.sorted[level], domain)
		}
		slices.SortFunc(t.sorted[level], func(a, b int) int { return strings.Compare(t.paths[a], t.paths[b]) })
	}
	listed := make([]DomainSlots, 0, len(t.sorted[level]))
	for _, domain := range t.sorted[level] {
		listed = append(listed, DomainSlots{Path: t.paths[domain], Slots: t.slots[domain]})
	}
	return listed
}
