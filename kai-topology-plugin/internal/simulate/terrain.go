package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
)

// terrain is what the nodes of a cluster offer while nobody stands on them, and the domains that they are in.
type terrain struct {
	cluster *inventory.Inventory
	// names are the nodes, sorted, index their places, and offers what each has.
	names  []string
	index  map[string]int32
	nodes  []*corev1.Node
	offers []packing.Resources
	// levels are those of each Topology, broadest first.
	levels map[string][]level
	// rooms has, by what a pod asks for and a level, how many such pods each domain holds, the largest first.
	rooms map[roomKey][]int64
	// sizes are those of gangs of a shape.
	sizes map[*shape]*size
}

// level is a level of a Topology: the domain of each node, by number, or none.
type level struct {
	key     string
	domains []int32
	count   int
}

const none = -1

type roomKey struct{ requests, topology, level string }

// size is what a gang asks for.
type size struct {
	// each is what one pod asks for, and count how many do, if all are alike; else each is nil.
	each  packing.Resources
	count int64
	// device is what all ask for of the scarcest device.
	device float64
	// topologies are those that the gang names, and least has the fewest domains of their levels that could hold its
	// pods if nobody stood there.
	topologies []string
	least      map[string]int
	// impossible is set if the cluster, or any domain of its required level, is too small for it. Its pods are never
	// made.
	impossible bool
	// classes tell apart which nodes its pods accept, apart from resources.
	classes []*class
}

// asksForOne reports whether pods, all alike, ask for one resource besides their place.
func (s *size) asksForOne() bool {
	asked := 0
	for resource, amount := range s.each {
		if amount > 0 && resource != kubeframework.ResourcePods {
			asked++
		}
	}
	return asked == 1
}

func newTerrain(cluster *inventory.Inventory, nodes []fwk.NodeInfo) *terrain {
	t := &terrain{
		cluster: cluster, index: map[string]int32{}, levels: map[string][]level{}, rooms: map[roomKey][]int64{},
		sizes: map[*shape]*size{},
	}
	for i, node := range nodes {
		t.names, t.nodes = append(t.names, node.Node().Name), append(t.nodes, node.Node())
		t.index[node.Node().Name] = int32(i)
		t.offers = append(t.offers, kubeframework.Allocatable(node))
	}
	for name := range cluster.Topologies {
		keys := cluster.LevelKeys(name)
		for depth := range keys {
			t.levels[name] = append(t.levels[name], t.level(keys[:depth+1]))
		}
	}
	return t
}

// level numbers the domains at the last of some keys.
func (t *terrain) level(keys []string) level {
	made := level{key: keys[len(keys)-1], domains: make([]int32, len(t.nodes))}
	numbers, ground := map[string]int32{}, gangstate.Ground{Levels: keys}
	for i, node := range t.nodes {
		made.domains[i] = none
		path, ok := ground.Domain(node.Labels)
		if !ok {
			continue
		}
		number, known := numbers[path]
		if !known {
			number = int32(len(numbers))
			numbers[path] = number
		}
		made.domains[i] = number
	}
	made.count = len(numbers)
	return made
}

// sizeOf is the size of a gang that arrives. The device and the classes are for the account to add.
func (t *terrain) sizeOf(job *Job) (*size, error) {
	if known := t.sizes[job.shape]; known != nil && job.shape != nil {
		return known, nil
	}
	var found *size
	var err error
	if job.shape != nil {
		found, err = t.sizeOfShape(job.shape)
		t.sizes[job.shape] = found
	} else {
		found = &size{topologies: gang.TopologiesOf(job.podGroup)}
		found.least, err = t.least(found.topologies, job.pods)
	}
	if err != nil {
		return nil, fmt.Errorf("gang %s: %w", job.Name, err)
	}
	return found, nil
}

func (t *terrain) sizeOfShape(shape *shape) (*size, error) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = shape.containers
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return nil, err
	}
	found := &size{each: requests, count: int64(shape.count), least: map[string]int{}}
	all := t.roomsOf(requests, "", nil)
	found.impossible = fewest(all, found.count) == 0
	if shape.constraint == nil {
		return found, nil
	}
	found.topologies = []string{shape.constraint.Topology}
	levels, _ := t.cluster.Levels(shape.constraint.Topology)
	required := levels.Key(shape.constraint.RequiredTopologyLevel)
	for i := range t.levels[shape.constraint.Topology] {
		level := &t.levels[shape.constraint.Topology][i]
		found.least[level.key] = fewest(t.roomsOf(requests, shape.constraint.Topology, level), found.count)
		found.impossible = found.impossible || level.key == required && found.least[level.key] != 1
	}
	return found, nil
}

// least is how many domains of each level of some Topologies, at least, hold pods if nobody stands there; 0 if all
// domains do not.
func (t *terrain) least(topologies []string, pods []*corev1.Pod) (map[string]int, error) {
	least := map[string]int{}
	for _, topology := range topologies {
		for i := range t.levels[topology] {
			level := &t.levels[topology][i]
			var err error
			if least[level.key], err = t.leastAt(topology, level, pods); err != nil {
				return nil, err
			}
		}
	}
	return least, nil
}

// leastAt is as many domains of a level as the pods of each kind need, and as all need for each resource.
func (t *terrain) leastAt(topology string, at *level, pods []*corev1.Pod) (most int, err error) {
	kinds, counts := map[string]packing.Resources{}, map[string]int64{}
	total := packing.Resources{}
	for _, pod := range pods {
		requests, err := kubeframework.Requests(pod)
		if err != nil {
			return 0, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		kind := fmt.Sprint(requests)
		kinds[kind] = requests
		counts[kind]++
		for resource, amount := range requests {
			total[resource] += amount
		}
	}
	for resource, amount := range total {
		if amount > 0 && len(kinds) > 1 {
			kinds[resource], counts[resource] = packing.Resources{resource: 1}, amount
		}
	}
	for kind, requests := range kinds {
		needed := fewest(t.roomsOf(requests, topology, at), counts[kind])
		if needed == 0 {
			return 0, nil
		}
		most = max(most, needed)
	}
	return most, nil
}

// fewest is how many of some rooms, the largest first, hold so many pods; 0 if all do not.
func fewest(rooms []int64, pods int64) int {
	for i, room := range rooms {
		if pods -= room; pods <= 0 {
			return i + 1
		}
	}
	return 0
}

// roomsOf is how many pods that ask for this each domain of a level holds, the largest first. Without a level it is
// about the nodes.
func (t *terrain) roomsOf(requests packing.Resources, topology string, at *level) []int64 {
	key := roomKey{requests: fmt.Sprint(requests), topology: topology}
	if at != nil {
		key.level = at.key
	}
	if known, ok := t.rooms[key]; ok {
		return known
	}
	rooms := make([]int64, len(t.nodes))
	if at != nil {
		rooms = make([]int64, at.count)
	}
	for i, offered := range t.offers {
		domain := int32(i)
		if at != nil {
			domain = at.domains[i]
		}
		if domain != none {
			rooms[domain] += fits(requests, offered)
		}
	}
	rooms = slices.DeleteFunc(rooms, func(room int64) bool { return room == 0 })
	slices.SortFunc(rooms, func(a, b int64) int { return cmp.Compare(b, a) })
	t.rooms[key] = rooms
	return rooms
}

func fits(requests, offered packing.Resources) int64 {
	count := int64(math.MaxInt32)
	for resource, amount := range requests {
		if amount > 0 {
			count = min(count, max(0, offered[resource])/amount)
		}
	}
	return count
}

// locate counts the domains that pods stand in, by the levels of a gang's Topologies, and the fewest that could hold
// those of them that stand in any.
func (t *terrain) locate(
	size *size, nodes map[string]int, standing []*corev1.Pod,
) (domains, least map[string]int, err error) {
	domains, least = map[string]int{}, map[string]int{}
	for _, topology := range size.topologies {
		for i := range t.levels[topology] {
			level := &t.levels[topology][i]
			used, inside := map[int32]bool{}, 0
			for node, pods := range nodes {
				if domain := level.domains[t.index[node]]; domain != none {
					used[domain] = true
					inside += pods
				}
			}
			domains[level.key] = len(used)
			switch {
			case inside == 0:
				least[level.key] = 0
			case size.each != nil:
				least[level.key] = fewest(t.roomsOf(size.each, topology, level), int64(inside))
			default:
				outside := func(pod *corev1.Pod) bool { return level.domains[t.index[pod.Spec.NodeName]] == none }
				within := slices.DeleteFunc(slices.Clone(standing), outside)
				if least[level.key], err = t.leastAt(topology, level, within); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return domains, least, nil
}

// compact is where pods stand, by node.
func (t *terrain) compact(nodes map[string]int) []nodePods {
	stood := make([]nodePods, 0, len(nodes))
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		stood = append(stood, nodePods{t.index[node], int32(nodes[node])})
	}
	return stood
}

func (t *terrain) capacityOf(resource string) (sum int64) {
	for _, offered := range t.offers {
		sum += offered[resource]
	}
	return sum
}

// places are those of the nodes of some pods, none for a pod without one.
func (t *terrain) places(nodes map[string]string, pods []*corev1.Pod) []int32 {
	places := make([]int32, len(pods))
	for i, pod := range pods {
		places[i] = none
		if node, ok := nodes[pod.Name]; ok {
			places[i] = t.index[node]
		}
	}
	return places
}

// named is the node of each pod by its name, given the places of all.
func (t *terrain) named(places []int32, pods []*corev1.Pod) (map[string]string, error) {
	if len(places) != len(pods) {
		return nil, fmt.Errorf("--resume: there are nodes for %d pods, not %d", len(places), len(pods))
	}
	nodes := make(map[string]string, len(pods))
	for i, place := range places {
		switch {
		case place >= int32(len(t.names)) || place < none:
			return nil, fmt.Errorf("--resume: there is no node %d", place)
		case place != none:
			nodes[pods[i].Name] = t.names[place]
		}
	}
	return nodes, nil
}
