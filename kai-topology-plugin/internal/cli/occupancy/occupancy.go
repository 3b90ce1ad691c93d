// Package occupancy says how full each domain of a topology is, and of what.
package occupancy

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Domain is a topology domain, or the whole cluster, or a node.
type Domain struct {
	// Name is the value of the label, and Level its key; a node has the name of the node, and the whole cluster none.
	Name  string `json:"name,omitempty"`
	Level string `json:"level,omitempty"`
	// Path is the domain as it is written in the status of PodGroups.
	Path  string `json:"path,omitempty"`
	Nodes int    `json:"nodes"`
	Amounts
	// Cordoned and NotReady count nodes that take no pods.
	Cordoned int `json:"cordoned,omitempty"`
	NotReady int `json:"notReady,omitempty"`
	// Gangs stand here, the largest first.
	Gangs []Occupant `json:"gangs,omitempty"`
	// OtherPods counts the pods that belong to no gang.
	OtherPods int `json:"otherPods,omitempty"`
	// Unlabelled is made of the nodes that stand in no narrower domain: its Level is the label that they lack.
	Unlabelled *Domain `json:"unlabelled,omitempty"`
	// NodeNames are the nodes of an Unlabelled.
	NodeNames []string `json:"nodeNames,omitempty"`
	// Domains are the next narrower ones, by name.
	Domains []*Domain `json:"domains,omitempty"`
	// Zones are the NUMA zones of a node that reports them, where the topology has a level of zones.
	Zones []*Domain `json:"zones,omitempty"`

	gangs map[gang.Key]*Occupant
	below map[string]*Domain
}

// Amounts are of one resource, in its own unit: devices, CPUs, bytes. Total is the sum of the others.
type Amounts struct {
	Used float64 `json:"used"`
	Free float64 `json:"free"`
	// Unavailable would be free if the nodes took pods.
	Unavailable float64 `json:"unavailable"`
	Total       float64 `json:"total"`
}

// Occupant is what a gang has in a domain.
type Occupant struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Pods      int     `json:"pods"`
	Amount    float64 `json:"amount"`
}

// Resource returns the one to report: GPUs if any node has them, else CPUs.
func Resource(all []*corev1.Node) corev1.ResourceName {
	for _, node := range all {
		if amount, ok := node.Status.Allocatable[nodes.GPU]; ok && !amount.IsZero() {
			return nodes.GPU
		}
	}
	return corev1.ResourceCPU
}

// Of returns the whole cluster, divided by the levels. Below the last of them that node labels distinguish come the
// nodes themselves, unless that is the host's name. Only gangs that shown accepts are listed.
func Of(
	cluster *inventory.Inventory, levels podgrouptree.Hierarchy, name corev1.ResourceName, shown func(gang.Key) bool,
) *Domain {
	standing, root, labels := cluster.OnNodes(), &Domain{}, levels.NodeLabels()
	for _, node := range cluster.Nodes {
		stock := stockOf(node, standing[node.Name], name, shown)
		domains := root.descend(node, labels)
		for _, domain := range domains {
			domain.add(stock)
		}
		if last := domains[len(domains)-1]; levels.Zone() != "" && last.Name != "" {
			last.Zones = zonesOf(cluster.Zones.Node(node.Name), node, standing[node.Name], name)
			for _, zone := range last.Zones {
				zone.Level, zone.Path = levels.Zone(), nodes.ZonePath(node, labels, zone.Name).String()
			}
		}
	}
	root.settle()
	return root
}

// descend returns the domains of a node, from the whole cluster down to the node itself.
func (d *Domain) descend(node *corev1.Node, levels []string) []*Domain {
	path, at := nodes.Path(node.Labels, levels), d
	lacks := len(path) < len(levels)
	if host := slices.Index(levels, corev1.LabelHostname); host >= 0 && host < len(path) {
		path, lacks = path[:host], false // The node stands for its host.
	}
	domains := []*Domain{d}
	for i, name := range path {
		at = at.child(name, levels[i], path[:i+1])
		domains = append(domains, at)
	}
	if lacks {
		return append(domains, at.unlabelled(levels[len(path)], node))
	}
	if at.Name == node.Name {
		return domains // The narrowest level is the host under another label.
	}
	return append(domains, at.child(node.Name, corev1.LabelHostname, append(path, node.Name)))
}

func (d *Domain) unlabelled(level string, node *corev1.Node) *Domain {
	if d.Unlabelled == nil {
		d.Unlabelled = &Domain{Level: level}
	}
	d.Unlabelled.NodeNames = append(d.Unlabelled.NodeNames, node.Name)
	return d.Unlabelled
}

func (d *Domain) child(name, level string, path packing.Path) *Domain {
	if d.below == nil {
		d.below = map[string]*Domain{}
	}
	child, ok := d.below[name]
	if !ok {
		child = &Domain{Name: name, Level: level, Path: path.String()}
		d.below[name] = child
		d.Domains = append(d.Domains, child)
	}
	return child
}

// stock is what a node has.
type stock struct {
	Amounts
	cordoned, notReady bool
	gangs              map[gang.Key]*Occupant
	others             int
}

func stockOf(node *corev1.Node, pods []*corev1.Pod, name corev1.ResourceName, shown func(gang.Key) bool) stock {
	s := stock{cordoned: node.Spec.Unschedulable, notReady: !nodes.Ready(node), gangs: map[gang.Key]*Occupant{}}
	for _, pod := range pods {
		amount := nodes.Amount(nodes.Requests(pod)[name])
		s.Used += amount
		key, member := gang.KeyOf(pod)
		switch {
		case !member:
			s.others++
		case shown(key):
			if s.gangs[key] == nil {
				s.gangs[key] = &Occupant{Namespace: key.Namespace, Name: key.Name}
			}
			s.gangs[key].Pods++
			s.gangs[key].Amount += amount
		}
	}
	s.Total = max(nodes.Amount(node.Status.Allocatable[name]), s.Used)
	rest := &s.Free
	if !nodes.Schedulable(node) {
		rest = &s.Unavailable
	}
	*rest = s.Total - s.Used
	return s
}

func (d *Domain) add(s stock) {
	d.Nodes++
	d.Used += s.Used
	d.Free += s.Free
	d.Unavailable += s.Unavailable
	d.Total += s.Total
	d.OtherPods += s.others
	if s.cordoned {
		d.Cordoned++
	}
	if s.notReady {
		d.NotReady++
	}
	if d.gangs == nil {
		d.gangs = map[gang.Key]*Occupant{}
	}
	for key, occupant := range s.gangs {
		if d.gangs[key] == nil {
			d.gangs[key] = &Occupant{Namespace: key.Namespace, Name: key.Name}
		}
		d.gangs[key].Pods += occupant.Pods
		d.gangs[key].Amount += occupant.Amount
	}
}

// settle sorts everything, from here down.
func (d *Domain) settle() {
	for _, occupant := range d.gangs {
		d.Gangs = append(d.Gangs, *occupant)
	}
	slices.SortFunc(d.Gangs, func(a, b Occupant) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(b.Pods, a.Pods),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(d.NodeNames, naturally)
	if d.Unlabelled != nil {
		d.Unlabelled.settle()
	}
	slices.SortFunc(d.Domains, func(a, b *Domain) int { return naturally(a.Name, b.Name) })
	for _, child := range d.Domains {
		child.settle()
	}
}

// naturally compares names as people number them: rack-2 comes before rack-10.
func naturally(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		digitsX, digitsY := leadingDigits(x), leadingDigits(y)
		if digitsX == "" || digitsY == "" {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		numberX, numberY := strings.TrimLeft(digitsX, "0"), strings.TrimLeft(digitsY, "0")
		if order := cmp.Or(cmp.Compare(len(numberX), len(numberY)), strings.Compare(numberX, numberY)); order != 0 {
			return order
		}
		x, y = x[len(digitsX):], y[len(digitsY):]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// zonesOf returns the zones of a node, which may report none, with what pods on the node leave of a resource. Where the
// kubelet takes pods whatever their zones, that is what the node reports.
func zonesOf(reported *zones.Node, node *corev1.Node, pods []*corev1.Pod, name corev1.ResourceName) []*Domain {
	if reported == nil {
		return nil
	}
	free := reported.Usage(pods, nil).Free()
	var all []*Domain
	for i, zone := range reported.Zones {
		left := zone.Available
		if free != nil {
			left = free[i]
		}
		amounts := Amounts{Total: nodes.InUnits(string(name), zone.Allocatable[string(name)])}
		rest := &amounts.Free
		if !nodes.Schedulable(node) {
			rest = &amounts.Unavailable
		}
		*rest = min(nodes.InUnits(string(name), left[string(name)]), amounts.Total)
		amounts.Used = amounts.Total - *rest
		all = append(all, &Domain{Name: zone.Name, Amounts: amounts})
	}
	return all
}
