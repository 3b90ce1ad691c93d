package remedies

import (
	"context"
	"fmt"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/preemption"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// keepFewerSpares looks, for each level of which domains keep spares, for the most that they can keep so that the gang
// fits.
func (p *unplaced) keepFewerSpares(ctx context.Context) ([]Remedy, error) {
	var found []Remedy
	for i, wanted := range p.table.Wanted() {
		fits := func(fewer int) (bool, error) {
			lowered := slices.Clone(p.table.Wanted())
			lowered[i].Nodes -= fewer
			answer, err := p.decide(ctx, p.table.Keeping(lowered), p.turn.Gang.PodGroup, p.pods)
			return answer != nil && len(answer.Nodes) > 0, err
		}
		if all, err := fits(wanted.Nodes); err != nil || !all {
			if err != nil {
				return nil, err
			}
			continue
		}
		fewer, err := smallest(wanted.Nodes, fits)
		if err != nil {
			return nil, err
		}
		found = append(found, Remedy{Kind: KeepFewerSpares, Fits: true, Change: fmt.Sprintf(
			"keep %s of each %s as spares instead of %d (annotation %s of Topology %s); "+
				"gangs that lose pods may then have no way out",
			preemption.Count(wanted.Nodes-fewer, "node"), wanted.Level(), wanted.Nodes,
			kai.AnnotationSpares, wanted.Topology)})
	}
	return found, nil
}
