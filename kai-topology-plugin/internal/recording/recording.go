// Package recording has what a simulation has shown over time: a cluster, and moment by moment what changed on it.
package recording

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Cluster is a cluster as a recording begins.
type Cluster struct {
	Nodes      []*corev1.Node         `json:"nodes"`
	Topologies []*kai.Topology        `json:"topologies"`
	PodGroups  []*scheduling.PodGroup `json:"podGroups,omitempty"`
	Pods       []*corev1.Pod          `json:"pods"`
}

// Gang is a gang that arrives, with pods that have no node yet.
type Gang struct {
	PodGroup *scheduling.PodGroup `json:"podGroup"`
	Pods     []*corev1.Pod        `json:"pods"`
}

// Change is a pod that stands on a node, or on none any more if that is empty, or a node that is down or up.
type Change struct {
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node"`
	Down *bool  `json:"down,omitempty"`
}

// Moment is what happened at one second, in this order.
type Moment struct {
	At float64 `json:"at"`
	// Over are the gangs that have ended, as namespace/name: they and their pods are gone.
	Over     []string `json:"over,omitempty"`
	Arrivals []Gang   `json:"arrivals,omitempty"`
	Changes  []Change `json:"changes,omitempty"`
}

// line is one of a recording: the cluster in the first, and a moment in each other.
type line struct {
	Cluster *Cluster `json:"cluster,omitempty"`
	*Moment
}

// State is a cluster at one moment, as it is recorded.
type State struct {
	// Gangs are those that have arrived and not ended, by their keys. Their pods may stand.
	Gangs map[gang.Key]Gang
	// Down are the names of nodes that are.
	Down map[string]bool
}

// Writer writes a recording, line by line.
type Writer struct {
	encoder *json.Encoder
	known   map[gang.Key]bool
	on      map[string]string
	down    map[string]bool
}

// NewWriter writes the cluster as it is before anything happens. Pods and gangs that wait there are left out.
func NewWriter(w io.Writer, cluster *inventory.Inventory) (*Writer, error) {
	first := &Cluster{Nodes: cluster.Nodes, Topologies: []*kai.Topology{}}
	for _, name := range slices.Sorted(maps.Keys(cluster.Topologies)) {
		first.Topologies = append(first.Topologies, cluster.Topologies[name])
	}
	first.Pods = append([]*corev1.Pod{}, inventory.Standing(cluster.Pods)...)
	stands := map[gang.Key]bool{}
	for _, pod := range first.Pods {
		key, _ := gang.KeyOf(pod)
		stands[key] = true
	}
	for _, podGroup := range cluster.PodGroups {
		if stands[gang.KeyOfPodGroup(podGroup)] {
			first.PodGroups = append(first.PodGroups, podGroup)
		}
	}
	written := &Writer{
		encoder: json.NewEncoder(w), known: map[gang.Key]bool{}, on: map[string]string{}, down: map[string]bool{},
	}
	return written, written.encoder.Encode(line{Cluster: first})
}

// Write writes what has changed since the last moment; nothing if nothing has.
func (w *Writer) Write(at float64, state State) error {
	moment := Moment{At: at}
	for _, key := range sorted(w.known) {
		if _, there := state.Gangs[key]; !there {
			moment.Over = append(moment.Over, key.String())
			delete(w.known, key)
		}
	}
	on := map[string]string{}
	for _, key := range sorted(state.Gangs) {
		found := state.Gangs[key]
		if !w.known[key] {
			w.known[key] = true
			moment.Arrivals = append(moment.Arrivals, arrival(found))
		}
		for _, pod := range found.Pods {
			name := pod.Namespace + "/" + pod.Name
			if on[name] = pod.Spec.NodeName; on[name] != w.on[name] {
				moment.Changes = append(moment.Changes, Change{Pod: name, Node: on[name]})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.down)) {
		if !state.Down[name] {
			moment.Changes = append(moment.Changes, Change{Node: name, Down: new(bool)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(state.Down)) {
		if down := true; !w.down[name] {
			moment.Changes = append(moment.Changes, Change{Node: name, Down: &down})
		}
	}
	w.on, w.down = on, maps.Clone(state.Down)
	if len(moment.Over)+len(moment.Arrivals)+len(moment.Changes) == 0 {
		return nil
	}
	return w.encoder.Encode(line{Moment: &moment})
}

func sorted[V any](of map[gang.Key]V) []gang.Key {
	return slices.SortedFunc(maps.Keys(of), func(a, b gang.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// arrival is a gang without nodes: where its pods stand is said by changes.
func arrival(found Gang) Gang {
	pods := make([]*corev1.Pod, len(found.Pods))
	for i, pod := range found.Pods {
		pods[i] = gang.On("", pod)
	}
	return Gang{PodGroup: found.PodGroup, Pods: pods}
}

// Recording is a recording that was read.
type Recording struct {
	cluster *Cluster
	moments []Moment
}

// Read reads a recording as a whole. The error says which line is wrong.
func Read(from io.Reader) (*Recording, error) {
	read := &Recording{}
	decoder := json.NewDecoder(bufio.NewReader(from))
	for number := 1; ; number++ {
		var next line
		err := decoder.Decode(&next)
		switch {
		case errors.Is(err, io.EOF) && read.cluster == nil:
			return nil, errors.New("the recording is empty: kai-topology-plugin simulate -o recording makes one")
		case errors.Is(err, io.EOF):
			return read, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		case (number == 1) != (next.Cluster != nil) || (number == 1) == (next.Moment != nil):
			const form = "line %d: the first line of a recording has a cluster, and each other a moment with at"
			return nil, fmt.Errorf(form, number)
		case number == 1:
			read.cluster = next.Cluster
			if err := next.Cluster.check(); err != nil {
				return nil, fmt.Errorf("line 1: cluster: %w", err)
			}
		default:
			if err := next.check(); err != nil {
				return nil, fmt.Errorf("line %d: arrivals: %w", number, err)
			}
			if last := len(read.moments) - 1; last >= 0 && next.At < read.moments[last].At {
				return nil, fmt.Errorf("line %d: at: second %v comes after second %v",
					number, next.At, read.moments[last].At)
			}
			read.moments = append(read.moments, *next.Moment)
		}
	}
}

// check returns what would be missed in what was read.
func (c *Cluster) check() error {
	if slices.Contains(c.Nodes, nil) || slices.Contains(c.Topologies, nil) ||
		slices.Contains(c.PodGroups, nil) || slices.Contains(c.Pods, nil) {
		return errors.New("an object is null")
	}
	return nil
}

func (m *Moment) check() error {
	for _, arrived := range m.Arrivals {
		if arrived.PodGroup == nil {
			return errors.New("a gang has no podGroup")
		}
		if slices.Contains(arrived.Pods, nil) {
			return errors.New("a gang has a pod that is null")
		}
	}
	return nil
}

// Moments are the seconds at which anything happened, the first of which is the beginning: 0, as the cluster is by
// itself.
func (r *Recording) Moments() []float64 {
	at := []float64{0}
	for i := range r.moments {
		at = append(at, r.moments[i].At)
	}
	return at
}

// At returns the cluster at one of the moments, by its place among them. A node that is down is not ready, and empty.
func (r *Recording) At(place int) (*inventory.Inventory, error) {
	if place < 0 || place > len(r.moments) {
		return nil, fmt.Errorf("there are moments 0 to %d, and no moment %d", len(r.moments), place)
	}
	gangs, on, down := map[string]Gang{}, map[string]string{}, map[string]bool{}
	var order []string
	for i := range r.moments[:place] {
		moment := &r.moments[i]
		for _, over := range moment.Over {
			delete(gangs, over)
		}
		for _, arrived := range moment.Arrivals {
			key := gang.KeyOfPodGroup(arrived.PodGroup).String()
			gangs[key] = arrived
			order = append(order, key)
		}
		for _, change := range moment.Changes {
			switch {
			case change.Down != nil:
				down[change.Node] = *change.Down
			default:
				on[change.Pod] = change.Node
			}
		}
	}
	return r.cluster.with(gangs, order, on, down), nil
}

// with returns the cluster with gangs, in the order of their arrival, whose pods stand on nodes.
func (c *Cluster) with(
	gangs map[string]Gang, order []string, on map[string]string, down map[string]bool,
) *inventory.Inventory {
	cluster := inventory.New()
	for _, topology := range c.Topologies {
		cluster.Topologies[topology.Name] = topology
	}
	for _, node := range c.Nodes {
		if down[node.Name] {
			node = node.DeepCopy()
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	cluster.PodGroups = slices.Clone(c.PodGroups)
	for _, pod := range c.Pods {
		if !down[pod.Spec.NodeName] {
			cluster.Pods = append(cluster.Pods, pod)
		}
	}
	for _, key := range order {
		arrived, there := gangs[key]
		if !there {
			continue
		}
		cluster.PodGroups = append(cluster.PodGroups, arrived.PodGroup)
		for _, pod := range arrived.Pods {
			cluster.Pods = append(cluster.Pods, gang.On(on[pod.Namespace+"/"+pod.Name], pod))
		}
	}
	return cluster
}
