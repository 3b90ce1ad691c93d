package gangs

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/relations"

	"packtree.dev/grove-operator/internal/layout"
)

// related reports whether copies of a scaling group are items of a relation.
func (b builder) related(group *grovev1alpha1.PodCliqueScalingGroupConfig) bool {
	return len(group.TopologySpread) > 0 ||
		slices.ContainsFunc(b.set.Spec.Template.TopologySpread, func(spread grovev1alpha1.TopologySpread) bool {
			return slices.Contains(spread.Among, group.Name)
		})
}

// baseRelations are the relations of the base gang; its subgroups are its copies.
func (b builder) baseRelations(gang *schedulerv1alpha1.PodGang) []relations.Relation {
	template := &b.set.Spec.Template
	list := relationList{builder: b}
	exists := map[string]bool{}
	for _, group := range gang.Spec.PodGroups {
		exists[group.Name] = true
	}
	for i := range template.TopologySpread {
		list.addOfSet(i, func(name string) []string { return b.itemsOf(name, exists) })
	}
	groups := template.PodCliqueScalingGroups
	for i := range groups {
		items := b.itemsOf(groups[i].Name, exists)
		for j := range groups[i].TopologySpread {
			list.addGangs(&groups[i].TopologySpread[j], relationName(groups[i].Name, groups[i].TopologySpread, j),
				items)
		}
		for copyIndex := range min(layout.GroupMinAvailable(&groups[i]), b.copies(&groups[i])) {
			list.addPods(layout.Copy(b.set, b.replica, &groups[i], copyIndex), exists)
		}
	}
	list.addPods(layout.Standalone(b.set, b.replica), exists)
	return list.relations
}

// scaledRelations are the relations of a scaled gang, which as a whole is a copy of its group.
func (b builder) scaledRelations(
	group *grovev1alpha1.PodCliqueScalingGroupConfig, members []layout.Member, gang *schedulerv1alpha1.PodGang,
) []relations.Relation {
	list := relationList{builder: b, whole: true}
	exists := map[string]bool{}
	for _, podGroup := range gang.Spec.PodGroups {
		exists[podGroup.Name] = true
	}
	for i := range b.set.Spec.Template.TopologySpread {
		list.addOfSet(i, func(name string) []string {
			if name != group.Name {
				return nil
			}
			return []string{gang.Name}
		})
	}
	for i := range group.TopologySpread {
		list.addGangs(&group.TopologySpread[i], relationName(group.Name, group.TopologySpread, i), []string{gang.Name})
	}
	list.addPods(members, exists)
	return list.relations
}

// itemsOf returns the subgroups of the base gang that are copies of a scaling group, or the subgroup of a standalone
// clique.
func (b builder) itemsOf(name string, exists map[string]bool) []string {
	group := layout.Group(b.set, name)
	if group == nil {
		if clique := layout.PodClique(b.set.Name, b.replica, name); exists[clique] {
			return []string{clique}
		}
		return nil
	}
	var items []string
	for copyIndex := range min(layout.GroupMinAvailable(group), b.copies(group)) {
		has := slices.ContainsFunc(layout.Copy(b.set, b.replica, group, copyIndex),
			func(m layout.Member) bool { return exists[m.Name] })
		if !has {
			continue
		}
		item := layout.GroupConfig(b.set.Name, b.replica, name, copyIndex)
		for exists[item] {
			item += "-group" // The pod grouper calls a config so if its name is a PodClique's too.
		}
		items = append(items, item)
	}
	return items
}

// relationList collects the relations of one gang.
type relationList struct {
	builder builder
	// whole is set if the gang itself is an item, and has no named subgroups.
	whole     bool
	relations []relations.Relation
}

// relationName is the name of a spread's relation: the same in all gangs, and unique in each, since no name of a clique
// or of a scaling group has a dot.
func relationName(owner string, spreads []grovev1alpha1.TopologySpread, index int) string {
	name, before := fmt.Sprintf("%s-by-%s", owner, spreads[index].Domain), 0
	for i := range spreads[:index] {
		if spreads[i].Domain == spreads[index].Domain {
			before++
		}
	}
	if before > 0 {
		name += fmt.Sprintf(".%d", before)
	}
	return name
}

// addOfSet adds the set's spreads: of its gangs, of its replicas, or of the copies of several groups in each replica.
// Items returns the items of a name in this gang.
func (l *relationList) addOfSet(index int, items func(name string) []string) {
	spreads := l.builder.set.Spec.Template.TopologySpread
	spread := spreads[index]
	if spread.Near != "" { // For every gang by itself.
		l.add(l.of(&spread, relationName("set.near", spreads, index)))
		return
	}
	if len(spread.Among) == 0 {
		relation := l.of(&spread, relationName("set.replicas", spreads, index))
		relation.Gangs = l.builder.set.Name + "." + relation.Name
		relation.Item = layout.BaseGang(l.builder.set.Name, l.builder.replica)
		l.add(relation)
		return
	}
	var all []string
	for _, name := range spread.Among {
		all = append(all, items(name)...)
	}
	l.addGangs(&spread, relationName("set.together", spreads, index), all)
}

// addGangs adds a relation between items of all gangs of the replica, or of this gang's items to a gang that they are
// near.
func (l *relationList) addGangs(spread *grovev1alpha1.TopologySpread, name string, items []string) {
	if len(items) == 0 {
		return
	}
	relation := l.of(spread, name)
	if spread.Near == "" {
		relation.Gangs = layout.BaseGang(l.builder.set.Name, l.builder.replica) + "." + name
	}
	if !l.whole {
		relation.SubGroups = items
	}
	l.add(relation)
}

// addPods adds the spreads of cliques over their pods.
func (l *relationList) addPods(members []layout.Member, exists map[string]bool) {
	for _, member := range members {
		if !exists[member.Name] {
			continue
		}
		owner := member.Clique.Name + ".pods"
		if member.Group != nil && !l.whole {
			owner = fmt.Sprintf("%s.%d.%s", member.Group.Name, member.Copy, owner)
		}
		spreads := member.Clique.TopologySpread
		for i := range spreads {
			relation := l.of(&spreads[i], relationName(owner, spreads, i))
			if relation.Near != "" {
				relation.SubGroups = []string{member.Name}
			} else {
				relation.PodsOf = member.Name
			}
			l.add(relation)
		}
	}
}

// of translates a spread, without its items.
func (l *relationList) of(spread *grovev1alpha1.TopologySpread, name string) relations.Relation {
	relation := relations.Relation{
		Name:                name,
		Topology:            l.builder.resolved.SchedulerTopology,
		Level:               l.builder.resolved.Key(spread.Domain),
		MaxPerDomain:        ptr.Deref(spread.MaxPerDomain, 0),
		MaxPercentPerDomain: ptr.Deref(spread.MaxPercentPerDomain, 0),
		Even:                spread.Even,
		Near:                spread.Near,
	}
	if spread.Preferred() {
		relation.Required = new(false)
	}
	return relation
}

// add leaves out relations on levels that the topology does not have, as for constraints.
func (l *relationList) add(relation relations.Relation) {
	if relation.Level != "" {
		l.relations = append(l.relations, relation)
	}
}
