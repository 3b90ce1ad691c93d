package remedies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// maxGroups is how many groups of one gang are named, and tried one by one.
const maxGroups = 4

// relaxLevel looks for the narrowest broader level at which the gang fits.
func (p *unplaced) relaxLevel(ctx context.Context) ([]Remedy, error) {
	if p.why.Level == "" || p.group() == nil || p.group().Constraint.RequiredTopologyLevel == "" {
		return nil, nil
	}
	known, _ := p.cluster.Levels(p.why.Topology)
	levels, from := known.Keys(), p.asked()
	at := slices.Index(levels, from)
	for broader := at - 1; broader >= -1; broader-- {
		level := ""
		if broader >= 0 {
			level = levels[broader]
		}
		tied := p.tiedBelow(levels, broader, from)
		fits, err := p.withSpec(ctx, func(podGroup *scheduling.PodGroup) { require(podGroup, tied, level) })
		if err != nil {
			return nil, err
		}
		if fits || broader == -1 {
			return []Remedy{{Kind: RelaxLevel, Change: relaxed(tied, from, level), Fits: fits}}, nil
		}
	}
	return nil, nil
}

// asked is the level that the explained group has to leave. An explanation speaks of hosts where it asks for a NUMA
// zone.
func (p *unplaced) asked() string {
	group := p.group()
	if group.RequiresZone() && group.OnNodes().RequiredTopologyLevel == p.why.Level {
		return group.Constraint.RequiredTopologyLevel
	}
	return p.why.Level
}

// tiedBelow returns the groups to relax for the explained one to leave a level: groups with the same constraint, since
// they are mostly alike, and ancestors with a constraint narrower than the new level.
func (p *unplaced) tiedBelow(levels []string, broader int, from string) []*podgrouptree.Group {
	ancestors := map[*podgrouptree.Group]bool{}
	for up := p.group(); up != nil; up = up.Parent {
		ancestors[up] = true
	}
	var tied []*podgrouptree.Group
	for _, group := range p.turn.Gang.Tree.Groups() {
		constraint := group.Constraint
		if constraint.Topology != p.why.Topology || constraint.RequiredTopologyLevel == "" {
			continue
		}
		narrower := slices.Index(levels, constraint.RequiredTopologyLevel) > broader
		if narrower && (ancestors[group] || constraint.RequiredTopologyLevel == from) {
			tied = append(tied, group)
		}
	}
	return tied
}

func require(podGroup *scheduling.PodGroup, groups []*podgrouptree.Group, level string) {
	for _, group := range groups {
		constraint := podGroup.Spec.TopologyConstraint
		for i := range podGroup.Spec.SubGroups {
			if sub := &podGroup.Spec.SubGroups[i]; sub.Name == group.Name {
				constraint = sub.TopologyConstraint
			}
		}
		constraint.RequiredTopologyLevel = level
	}
}

func relaxed(groups []*podgrouptree.Group, from, to string) string {
	names := make([]string, len(groups))
	for i, group := range groups {
		names[i] = describe(group)
	}
	subject := strings.Join(names, ", ")
	if len(names) > maxGroups {
		subject = fmt.Sprintf("%s and %d more", strings.Join(names[:maxGroups], ", "), len(names)-maxGroups)
	}
	if to == "" {
		return fmt.Sprintf("require no topology level for %s (now %s)", subject, from)
	}
	return fmt.Sprintf("require %s instead of %s for %s", to, from, subject)
}

// lowerMinima looks for the largest smaller minima at which the gang fits: one leaf or parent at a time, among the
// groups that the explanation is about.
func (p *unplaced) lowerMinima(ctx context.Context) ([]Remedy, error) {
	var found []Remedy
	for _, group := range p.lowerable() {
		remedy, err := p.lower(ctx, group)
		if err != nil {
			return nil, err
		}
		if remedy.Fits {
			found = append(found, remedy)
		}
	}
	return found, nil
}

// lowerable lists the explained group and those below it that have a minimum to lower, the largest leaves first.
func (p *unplaced) lowerable() []*podgrouptree.Group {
	var all []*podgrouptree.Group
	var collect func(*podgrouptree.Group)
	collect = func(group *podgrouptree.Group) {
		if group.MinMember > 1 || group.MinSubGroup > 1 && replicated(group) {
			all = append(all, group)
		}
		for _, child := range group.Children {
			collect(child)
		}
	}
	if group := p.group(); group != nil {
		collect(group)
	}
	slices.SortStableFunc(all, func(a, b *podgrouptree.Group) int { return int(b.MinMember - a.MinMember) })
	return all[:min(len(all), maxGroups)]
}

// replicated reports whether the children of a group are one thing several times, so that the gang is of use with fewer
// of them: leader and workers are not.
func replicated(group *podgrouptree.Group) bool {
	first := group.Children[0]
	return first.Constraint != (scheduling.TopologyConstraint{}) &&
		!slices.ContainsFunc(group.Children, func(child *podgrouptree.Group) bool {
			return child.Constraint != first.Constraint || child.MinPods() != first.MinPods() ||
				len(child.Children) != len(first.Children)
		})
}

func (p *unplaced) lower(ctx context.Context, group *podgrouptree.Group) (Remedy, error) {
	now := int(group.MinMember + group.MinSubGroup)
	by := func(less int) (bool, error) {
		return p.withSpec(ctx, func(podGroup *scheduling.PodGroup) { setMinimum(podGroup, group, int32(now-less)) })
	}
	most := now - 1
	fits, err := by(most)
	if err != nil || !fits {
		return Remedy{}, err
	}
	least, err := smallest(most, by)
	if err != nil {
		return Remedy{}, err
	}
	things := "pods"
	if !group.Leaf() {
		things = "subgroups"
	}
	return Remedy{
		Kind:   LowerMinimum,
		Change: fmt.Sprintf("lower the minimum of %s from %d to %d %s", describe(group), now, now-least, things),
		Fits:   true,
	}, nil
}

func setMinimum(podGroup *scheduling.PodGroup, group *podgrouptree.Group, minimum int32) {
	minMember, minSubGroup := &podGroup.Spec.MinMember, &podGroup.Spec.MinSubGroup
	for i := range podGroup.Spec.SubGroups {
		if sub := &podGroup.Spec.SubGroups[i]; sub.Name == group.Name {
			minMember, minSubGroup = &sub.MinMember, &sub.MinSubGroup
		}
	}
	if group.Leaf() {
		*minMember = &minimum
	} else {
		*minSubGroup = &minimum
	}
}
