package remedies

import (
	"context"
	"fmt"
	"slices"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/relations"
)

// relaxRelations tries the gang without each of its required relations.
func (p *unplaced) relaxRelations(ctx context.Context) ([]Remedy, error) {
	parsed, _ := relations.Parse(p.turn.Gang.PodGroup.Annotations) // A gang whose relations are wrong is held.
	var found []Remedy
	for i := range p.turn.Gang.Relations {
		if p.turn.Gang.Relations[i].Preferred() || len(found) == maxGroups {
			continue
		}
		fits, err := p.withSpec(ctx, func(podGroup *scheduling.PodGroup) {
			without := slices.Delete(slices.Clone(parsed), i, i+1)
			if delete(podGroup.Annotations, scheduling.AnnotationRelations); len(without) > 0 {
				podGroup.Annotations[scheduling.AnnotationRelations] = relations.Format(without)
			}
		})
		if err != nil {
			return nil, err
		}
		change := fmt.Sprintf("do without relation %s (%s)", parsed[i].Name, parsed[i].String())
		found = append(found, Remedy{Kind: RelaxRelation, Change: change, Fits: fits})
	}
	return found, nil
}
