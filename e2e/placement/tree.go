package placement

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// gpus is the resource that the tree counts.
const gpus corev1.ResourceName = "nvidia.com/gpu"

// Drawing says how a tree is drawn.
type Drawing struct {
	// Topology is the hierarchy to draw; its narrowest level, the nodes, is drawn as ranges.
	Topology Topology
	// Colours are for terminals.
	Colours bool
}

// branch is a domain of the drawn tree. Unlike in the scheduler's tree a node that lacks the label of a level hangs one level
// higher and not outside: people want to see every node.
type branch struct {
	name     string
	children map[string]*branch
	nodes    []*corev1.Node
}

// Draw writes the tree of domains with what stands where: per domain its nodes and GPUs, and per group of pods how many of
// them stand on which nodes.
func (d Drawing) Draw(out io.Writer, nodes []corev1.Node, pods []corev1.Pod) error {
	root := &branch{}
	for i := range nodes {
		place := root.descend(d.Topology, &nodes[i])
		place.nodes = append(place.nodes, &nodes[i])
	}
	onNode := map[string][]*corev1.Pod{}
	for i := range pods {
		if pod := &pods[i]; pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded {
			onNode[pod.Spec.NodeName] = append(onNode[pod.Spec.NodeName], pod)
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(root.children)) {
		lines = append(lines, d.branchLines(root.children[name], onNode)...)
	}
	if len(root.nodes) > 0 {
		lines = append(lines, d.branchLines(&branch{name: "(no domain)", nodes: root.nodes}, onNode)...)
	}
	_, err := io.WriteString(out, strings.Join(lines, "\n")+"\n")
	return err
}

// descend finds the branch that a node hangs on, and makes it where it is missing.
func (b *branch) descend(topology Topology, node *corev1.Node) *branch {
	at := b
	for i, key := range topology.Keys {
		value, labelled := node.Labels[key]
		if key == corev1.LabelHostname || !labelled {
			continue
		}
		name := value
		if i < len(topology.Domains) && !strings.HasPrefix(value, topology.Domains[i]) {
			name = topology.Domains[i] + " " + value
		}
		if at.children[name] == nil {
			if at.children == nil {
				at.children = map[string]*branch{}
			}
			at.children[name] = &branch{name: name}
		}
		at = at.children[name]
	}
	return at
}

func (d Drawing) branchLines(b *branch, onNode map[string][]*corev1.Pod) []string {
	all := b.all()
	lines := []string{d.bold(b.name) + d.dim("  "+occupancy(all, onNode))}
	var below [][]string
	for _, name := range slices.Sorted(maps.Keys(b.children)) {
		below = append(below, d.branchLines(b.children[name], onNode))
	}
	for _, group := range standing(b.nodes, onNode) {
		below = append(below, []string{fmt.Sprintf("%s  %s", d.green(group.name), group.where())})
	}
	for i, block := range below {
		first, rest := "├─ ", "│  "
		if i == len(below)-1 {
			first, rest = "└─ ", "   "
		}
		for j, line := range block {
			twig := rest
			if j == 0 {
				twig = first
			}
			lines = append(lines, d.dim(twig)+line)
		}
	}
	return lines
}

func (b *branch) all() []*corev1.Node {
	nodes := slices.Clone(b.nodes)
	for _, child := range b.children {
		nodes = append(nodes, child.all()...)
	}
	return nodes
}

func occupancy(nodes []*corev1.Node, onNode map[string][]*corev1.Pod) string {
	var used, there resource.Quantity
	for _, node := range nodes {
		there.Add(node.Status.Allocatable[gpus])
		for _, pod := range onNode[node.Name] {
			for _, container := range pod.Spec.Containers {
				used.Add(container.Resources.Requests[gpus])
			}
		}
	}
	line := counted(len(nodes), "node")
	if !there.IsZero() {
		line += fmt.Sprintf(", %s of %s GPUs", used.String(), there.String())
	}
	return line
}

// group is what one part of a workload has on the nodes of one domain.
type group struct {
	name  string
	pods  int
	nodes []string
}

func (g group) where() string {
	return fmt.Sprintf("%s on %s", counted(g.pods, "pod"), strings.Join(ranges(g.nodes), ", "))
}

func counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

func standing(nodes []*corev1.Node, onNode map[string][]*corev1.Pod) []group {
	byName := map[string]*group{}
	for _, node := range slices.SortedFunc(slices.Values(nodes), func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) }) {
		for _, pod := range onNode[node.Name] {
			name := partOf(pod)
			if byName[name] == nil {
				byName[name] = &group{name: name}
			}
			byName[name].pods++
			if !slices.Contains(byName[name].nodes, node.Name) {
				byName[name].nodes = append(byName[name].nodes, node.Name)
			}
		}
	}
	var groups []group
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		groups = append(groups, *byName[name])
	}
	return groups
}

// partOf names the part of a workload that a pod belongs to: the copy of its scaling group, else its PodClique, its Job, or
// its leaf of a PodGroup.
func partOf(pod *corev1.Pod) string {
	if group := pod.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]; group != "" {
		return group + "-" + pod.Labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex]
	}
	if clique := pod.Labels[grovev1alpha1.LabelPodClique]; clique != "" {
		return clique
	}
	if job := pod.Labels["batch.kubernetes.io/job-name"]; job != "" {
		return job
	}
	if podGroup := pod.Annotations[podGroupAnnotation]; podGroup != "" {
		return strings.TrimSuffix(podGroup+" "+pod.Labels[subGroupLabel], " ")
	}
	return pod.Name
}

// ranges shortens sorted names that only differ in a counted end: n-01, n-02, n-03 become n-01…03.
func ranges(names []string) []string {
	var short []string
	for i := 0; i < len(names); {
		prefix, first, counted := cutNumber(names[i])
		last := i
		for counted && last+1 < len(names) {
			next, number, ok := cutNumber(names[last+1])
			if !ok || next != prefix || number != first+last+1-i {
				break
			}
			last++
		}
		if last == i {
			short = append(short, names[i])
		} else {
			short = append(short, names[i]+"…"+strings.TrimPrefix(names[last], prefix))
		}
		i = last + 1
	}
	return short
}

func cutNumber(name string) (prefix string, number int, ok bool) {
	digits := strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(digits):])
	return digits, number, err == nil
}

func (d Drawing) bold(text string) string  { return d.paint("1", text) }
func (d Drawing) dim(text string) string   { return d.paint("2", text) }
func (d Drawing) green(text string) string { return d.paint("32", text) }

func (d Drawing) paint(code, text string) string {
	if !d.Colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
