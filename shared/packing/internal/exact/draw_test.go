package exact

import (
	"slices"

	"pgregory.net/rapid"
)

// Levels of the trees below: blocks have racks. rack is the level of racks in trees without blocks.
const (
	block    = 0
	deepRack = 1
)

// level of the racks that groups need.
const rack = 0

// nodes are what each node of a rack has free.
type nodes [][]int64

// pod is a class of pods that may use each node.
func pod(requests ...int64) Item { return Item{Level: None, Requests: requests} }

// group is a group that needs one domain of a level.
func group(level int, content ...int) Item { return Item{Level: level, Content: content} }

// inRacks makes an instance of racks. Content and total may end early.
func inRacks(items []Item, total []int, racks ...nodes) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	for r, free := range racks {
		d := Domain{Level: rack}
		for range free {
			d.Nodes = append(d.Nodes, len(in.Free)+len(d.Nodes))
		}
		in.Free, d.All = append(in.Free, free...), d.Nodes
		in.Domains = append(in.Domains, d)
		in.Domains[0].Children, in.Domains[0].All = append(in.Domains[0].Children, r+1), append(in.Domains[0].All, d.All...)
	}
	return in.with(items, total)
}

// onNodes makes an instance of nodes that stand in no rack.
func onNodes(items []Item, total []int, free nodes) *Instance {
	in := &Instance{Free: free, Domains: []Domain{{Level: None}}}
	for n := range free {
		in.Domains[0].Nodes = append(in.Domains[0].Nodes, n)
	}
	in.Domains[0].All = in.Domains[0].Nodes
	return in.with(items, total)
}

func (in *Instance) with(items []Item, total []int) *Instance {
	for _, it := range items {
		if it.Level == None {
			in.Classes++
			if it.Allowed == nil {
				it.Allowed = slices.Repeat([]bool{true}, len(in.Free))
			}
		} else {
			it.Content = padded(it.Content, len(items))
		}
		in.Items = append(in.Items, it)
	}
	in.Total = padded(total, len(items))
	return in
}

// padded gives counts their full length.
func padded(c Counts, length int) Counts {
	return append(slices.Clone(c), make(Counts, length-len(c))...)
}

// drawTight makes a handful of nodes and groups that barely fit, or barely not.
func drawTight(t *rapid.T) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	for r := range rapid.IntRange(1, 3).Draw(t, "racks") {
		d := Domain{Level: rack}
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			d.Nodes = append(d.Nodes, len(in.Free))
			in.Free = append(in.Free, []int64{rapid.SampledFrom([]int64{3, 4, 5}).Draw(t, "gpu"), rapid.SampledFrom([]int64{3,
				6}).Draw(t, "cpu")})
		}
		d.All = d.Nodes
		in.Domains = append(in.Domains, d)
		in.Domains[0].Children = append(in.Domains[0].Children, r+1)
		in.Domains[0].All = append(in.Domains[0].All, d.All...)
	}
	in.Classes = rapid.IntRange(1, 2).Draw(t, "classes")
	for range in.Classes {
		class := Item{Level: None, Requests: []int64{rapid.Int64Range(1, 3).Draw(t, "gpu"), rapid.Int64Range(1, 2).Draw(t,
			"cpu")}}
		for range in.Free {
			class.Allowed = append(class.Allowed, rapid.IntRange(0, 7).Draw(t, "allowed") > 0)
		}
		in.Items = append(in.Items, class)
	}
	in.drawGroups(t)
	return in
}

// drawGroups adds up to four groups of up to nine pods; most groups need a rack.
func (in *Instance) drawGroups(t *rapid.T) {
	groups := rapid.IntRange(1, 4).Draw(t, "groups")
	in.Total = make(Counts, in.Classes+groups)
	pods := 0
	for range groups {
		content := make(Counts, in.Classes+groups)
		for k := range in.Classes {
			content[k] = min(rapid.IntRange(0, 3).Draw(t, "pods"), 9-pods)
			pods += content[k]
		}
		if rapid.IntRange(0, 3).Draw(t, "rack") > 0 && !empty(content) {
			in.Items = append(in.Items, Item{Level: rack, Content: content})
			in.Total[len(in.Items)-1] = 1
			continue
		}
		for k := range in.Classes {
			in.Total[k] += content[k]
		}
	}
	in.Total = in.Total[:len(in.Items)]
	for i := range in.Items {
		if in.Items[i].Content != nil {
			in.Items[i].Content = in.Items[i].Content[:len(in.Items)]
		}
	}
}

// drawDeep makes a tree of blocks and racks in which nodes stand at each level, and groups in groups, some of them
// alike: up to eight pods that barely fit, or barely not.
func drawDeep(t *rapid.T) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	in.drawNodes(t, 0, 1)
	for range rapid.IntRange(1, 2).Draw(t, "blocks") {
		at := in.addDomain(0, block)
		in.drawNodes(t, at, 1)
		for range rapid.IntRange(0, 2).Draw(t, "racks") {
			in.drawNodes(t, in.addDomain(at, deepRack), 2)
		}
	}
	if rapid.Bool().Draw(t, "a rack outside of blocks") {
		in.drawNodes(t, in.addDomain(0, deepRack), 2)
	}
	in.all(0)
	var items []Item
	for range rapid.IntRange(1, 3).Draw(t, "classes") {
		it := pod(rapid.Int64Range(1, 3).Draw(t, "gpu"), rapid.Int64Range(0, 2).Draw(t, "cpu"))
		for range in.Free {
			it.Allowed = append(it.Allowed, rapid.IntRange(0, 5).Draw(t, "allowed") > 0)
		}
		items = append(items, it)
	}
	pods := 8
	sizes := slices.Repeat([]int{1}, len(items))
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		it, size := group(rapid.IntRange(block, deepRack).Draw(t, "level")), 0
		for _, each := range sizes {
			n := rapid.IntRange(0, min(2, (4-size)/each)).Draw(t, "content")
			it.Content, size = append(it.Content, n), size+n*each
		}
		if size > 0 {
			items, sizes = append(items, it), append(sizes, size)
		}
	}
	total := make([]int, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		total[i] = rapid.IntRange(0, min(3, pods/sizes[i])).Draw(t, "total")
		pods -= total[i] * sizes[i]
	}
	return in.with(items, total)
}

func (in *Instance) addDomain(parent, level int) int {
	at := len(in.Domains)
	in.Domains = append(in.Domains, Domain{Level: level})
	in.Domains[parent].Children = append(in.Domains[parent].Children, at)
	return at
}

// drawNodes adds up to most nodes to a domain.
func (in *Instance) drawNodes(t *rapid.T, domain, most int) {
	for range rapid.IntRange(0, most).Draw(t, "nodes") {
		in.Domains[domain].Nodes = append(in.Domains[domain].Nodes, len(in.Free))
		in.Free = append(in.Free, []int64{rapid.Int64Range(2, 5).Draw(t, "gpu"), rapid.Int64Range(1, 4).Draw(t, "cpu")})
	}
}

// all lists the nodes of a domain and of those within.
func (in *Instance) all(domain int) []int {
	d := &in.Domains[domain]
	all := slices.Clone(d.Nodes)
	for _, child := range d.Children {
		all = append(all, in.all(child)...)
	}
	in.Domains[domain].All = all
	return all
}

// drawSome draws some of the items there are.
func drawSome(t *rapid.T, most Counts) Counts {
	c := make(Counts, len(most))
	for i, n := range most {
		c[i] = rapid.IntRange(0, n).Draw(t, "some")
	}
	return c
}

// drawCrowded draws pods that fill the nodes, and replaces a few by others of about the same total size: the result
// fits exactly, or barely does not.
func drawCrowded(t *rapid.T, least, most int) *Instance {
	requests := []int64{7, 5, 4, 3}
	var items []Item
	for _, amount := range requests[rapid.IntRange(0, 1).Draw(t, "first class"):] {
		items = append(items, pod(amount, 1))
	}
	total := make(Counts, len(items))
	var free nodes
	for range rapid.IntRange(least, most).Draw(t, "nodes") {
		sum, pods := int64(0), rapid.IntRange(1, 3).Draw(t, "pods")
		for range pods {
			class := rapid.IntRange(0, len(items)-1).Draw(t, "class")
			total[class]++
			sum += items[class].Requests[0]
		}
		free = append(free, []int64{sum, int64(pods)})
	}
	// As large in sum: 5 and 3 for 4 and 4, or 4 and 4 for 5 and 3.
	three, four, five := len(items)-1, len(items)-2, len(items)-3
	for range rapid.IntRange(0, 3).Draw(t, "changed") {
		if five >= 0 && total[five] > 0 && total[three] > 0 {
			total[five], total[four], total[three] = total[five]-1, total[four]+2, total[three]-1
		} else if five >= 0 && total[four] > 1 {
			total[five], total[four], total[three] = total[five]+1, total[four]-2, total[three]+1
		}
	}
	return onNodes(items, total, free)
}

// drawFull draws racks that groups and pods fill: they fit, and a local search may not see it.
func drawFull(t *rapid.T) *Instance {
	items := []Item{pod(3, 1), pod(2, 1), group(rack, 1, 1), group(rack, 2), group(rack, 0, 3)}
	total := make(Counts, len(items))
	var racks []nodes
	for range rapid.IntRange(2, 11).Draw(t, "racks") {
		var free nodes
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			free = append(free, []int64{0, 2})
		}
		for range rapid.IntRange(1, 2).Draw(t, "items") {
			item := rapid.IntRange(0, len(items)-1).Draw(t, "item")
			total[item]++
			for class, n := range append(Counts(nil), contentOf(items, item)...) {
				for range n {
					at := rapid.IntRange(0, len(free)-1).Draw(t, "node")
					free[at][0] += items[class].Requests[0]
				}
			}
		}
		racks = append(racks, free)
	}
	for r := range racks {
		for n := range racks[r] {
			racks[r][n][1] = 6
		}
	}
	return inRacks(items, total, racks...)
}

// contentOf is what is in a group, or one pod.
func contentOf(items []Item, item int) Counts {
	if items[item].Level != None {
		return items[item].Content
	}
	c := make(Counts, item+1)
	c[item] = 1
	return c
}
