package gang

import (
	"cmp"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
)

// Relation is one of a gang's relations, and where items of other gangs stand that it counts.
type Relation struct {
	// Relation has its Topology and the key of its level.
	relations.Relation
	// Others are the other gangs with the same key Gangs that stand or are planned somewhere, by namespace and name;
	// with Near the one of that name. Assemble leaves it to Relate to say where.
	Others []RelatedItems
	// First is set if the gang need not wait for the gang that it is to be near: that one stands nowhere and has to be
	// near this one, directly or through others. In such a circle the gang with the first name goes first.
	First bool
}

// RelatedItems are the items that another gang is, or has, of a relation.
type RelatedItems struct {
	Gang Key
	// Item is the name of the item that the gang is of, with others; empty if it is one of its own.
	Item string
	// Nodes has, for each item, where its pods stand or are about to.
	Nodes [][]string
}

// relationsOf returns the relations of a PodGroup with a valid tree, and what keeps them from being followed.
func relationsOf(
	podGroup *scheduling.PodGroup, tree *podgrouptree.Tree, levels podgrouptree.Levels,
) ([]Relation, field.ErrorList) {
	parsed, errs := relations.Parse(podGroup.Annotations)
	if len(errs) > 0 {
		return nil, errs
	}
	if errs := relations.Validate(parsed, tree, levels); len(errs) > 0 {
		return nil, errs
	}
	found := make([]Relation, len(parsed))
	for i := range parsed {
		found[i].Relation = parsed[i]
		found[i].Topology = parsed[i].TopologyIn(tree)
		level := levels.WithKeys(
			scheduling.TopologyConstraint{Topology: found[i].Topology, RequiredTopologyLevel: parsed[i].Level})
		found[i].Level = level.RequiredTopologyLevel
	}
	return found, nil
}

// IndexKeys returns the keys under which other gangs find a gang: its RelationKeys, and its BaseKey if it has one.
func IndexKeys(podGroup *scheduling.PodGroup) []Key {
	keys := RelationKeys(podGroup)
	if base, ok := BaseKey(podGroup); ok {
		keys = append(keys, base)
	}
	return keys
}

// RelationKeys returns the keys that a PodGroup shares with the gangs that count in its relations, or that it is near.
func RelationKeys(podGroup *scheduling.PodGroup) []Key {
	keys := []Key{NearKey(KeyOfPodGroup(podGroup))}
	parsed, errs := relations.Parse(podGroup.Annotations)
	if len(errs) > 0 {
		return keys
	}
	for i := range parsed {
		if key, counts := relationKey(podGroup.Namespace, &parsed[i]); counts {
			keys = append(keys, key)
		}
	}
	return keys
}

func relationKey(namespace string, r *relations.Relation) (Key, bool) {
	if r.Near != "" {
		return NearKey(Key{Namespace: namespace, Name: r.Near}), true
	}
	return Key{Namespace: namespace, Name: "gangs/" + r.Gangs}, r.Gangs != ""
}

// NearKey is the key of RelationKeys that a gang shares with the gangs that are to be near it.
func NearKey(of Key) Key { return Key{Namespace: of.Namespace, Name: "near/" + of.Name} }

// RelationKey returns the key of a gang's relation, and false if it looks at no other gangs.
func (g *Gang) RelationKey(r *Relation) (Key, bool) {
	return relationKey(g.PodGroup.Namespace, &r.Relation)
}

// LooksAtOthers reports whether where other gangs stand has a say in where the gang may.
func (g *Gang) LooksAtOthers() bool {
	return slices.ContainsFunc(g.Relations, func(r Relation) bool {
		_, looks := g.RelationKey(&r)
		return looks
	})
}

// Related gives the PodGroups of a key that relations have in common, each with the pods of it that stand or are about
// to, by their nodes.
type Related func(Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod]

// Relate records in the relations of the gang where the items of others stand that they count, or the gang that they
// are to be near.
func (g *Gang) Relate(related Related) {
	for i := range g.Relations {
		r := &g.Relations[i]
		r.Others, r.First = nil, false
		key, looks := g.RelationKey(r)
		if !looks {
			continue
		}
		for other, standing := range related(key) {
			switch {
			case other.Name == g.PodGroup.Name:
			case r.Near == "":
				r.count(other, standing)
			case r.Near == other.Name:
				r.meet(other, standing)
			}
		}
		r.First = r.Near != "" && len(r.Others) == 0 && first(g.PodGroup, r.Near, related)
	}
}

// Awaits reports whether the gang has to be near another one that stands nowhere, as far as Relate recorded.
func (g *Gang) Awaits() bool {
	return slices.ContainsFunc(g.Relations, func(r Relation) bool {
		return r.Near != "" && !r.Preferred() && len(r.Others) == 0 && !r.First
	})
}

// count has the relation know the items of another gang. One that is nowhere counts nowhere.
func (r *Relation) count(other *scheduling.PodGroup, standing []*corev1.Pod) {
	parsed, errs := relations.Parse(other.Annotations)
	at := slices.IndexFunc(parsed, func(theirs relations.Relation) bool { return theirs.Gangs == r.Gangs })
	tree, invalid := podgrouptree.New(&other.Spec)
	if len(errs)+len(invalid) > 0 || at < 0 {
		return
	}
	items := RelatedItems{Gang: KeyOfPodGroup(other), Item: parsed[at].Item}
	nodes := map[string][]string{}
	for _, pod := range standing {
		if pod.Spec.NodeName == "" {
			continue
		}
		item := itemOf(tree, &parsed[at], LeafOf(pod))
		nodes[item] = append(nodes[item], pod.Spec.NodeName)
	}
	delete(nodes, notAnItem)
	for _, at := range nodes {
		slices.Sort(at)
		items.Nodes = append(items.Nodes, slices.Compact(at))
	}
	if len(items.Nodes) == 0 {
		return
	}
	slices.SortFunc(items.Nodes, slices.Compare)
	r.Others = append(r.Others, items)
	slices.SortFunc(r.Others, func(a, b RelatedItems) int { return cmp.Compare(a.Gang.Name, b.Gang.Name) })
}

// meet has the relation know where the gang stands that another is to be near.
func (r *Relation) meet(other *scheduling.PodGroup, standing []*corev1.Pod) {
	if nodes := NodesOf(standing); len(nodes) > 0 {
		r.Others = []RelatedItems{{Gang: KeyOfPodGroup(other), Nodes: [][]string{nodes}}}
	}
}

// first reports whether a way leads from one gang back to another, of gangs that stand nowhere and must each be near
// the next, on which no name sorts before the other's. Of gangs that wait for one another, that of the first name is on
// such a way from each.
func first(back *scheduling.PodGroup, from string, related Related) bool {
	met, ahead := sets.New[string](), []string{from}
	for len(ahead) > 0 {
		name := ahead[0]
		ahead = ahead[1:]
		switch {
		case name == back.Name:
			return true
		case name > back.Name && !met.Has(name):
			met.Insert(name)
			ahead = append(ahead, awaited(Key{Namespace: back.Namespace, Name: name}, related)...)
		}
	}
	return false
}

// awaited returns the names of the gangs that one must be near; none if it stands somewhere, or is not there.
func awaited(by Key, related Related) []string {
	var names []string
	for podGroup, standing := range related(NearKey(by)) {
		if podGroup.Name != by.Name || len(NodesOf(standing)) > 0 {
			continue
		}
		parsed, errs := relations.Parse(podGroup.Annotations)
		for i := range parsed {
			if len(errs) == 0 && parsed[i].Near != "" && !parsed[i].Preferred() {
				names = append(names, parsed[i].Near)
			}
		}
	}
	return names
}

// Counts reports whether the pods of a leaf are an item of the relation, or of one.
func (r *Relation) Counts(tree *podgrouptree.Tree, leaf string) bool {
	if r.PerPod() {
		return leaf == r.PodsOf
	}
	return itemOf(tree, &r.Relation, leaf) != notAnItem
}

// PerPod reports whether the items are pods.
func (r *Relation) PerPod() bool { return len(r.SubGroups) == 0 && r.Gangs == "" && r.Near == "" }

// notAnItem is no name of a group.
const notAnItem = "/"

// itemOf returns the name of the group that is the item of a leaf's pods.
func itemOf(tree *podgrouptree.Tree, r *relations.Relation, leaf string) string {
	if len(r.SubGroups) == 0 {
		return scheduling.RootGroup
	}
	for group := tree.Group(leaf); group != nil; group = group.Parent {
		if slices.Contains(r.SubGroups, group.Name) {
			return group.Name
		}
	}
	return notAnItem
}
