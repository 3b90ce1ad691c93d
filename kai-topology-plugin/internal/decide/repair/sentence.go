package repair

import (
	"fmt"
	"strings"
	"time"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// String says what moves: subgroup a (2 pods) from rack r1 to r2.
func (r Relocation) String() string {
	what := "subgroup " + r.SubGroup
	if r.SubGroup == scheduling.RootGroup {
		what = "the whole gang"
	}
	what += fmt.Sprintf(" (%s)", brief.Count(r.Pods, "pod"))
	if r.From != "" && r.To != "" {
		what += fmt.Sprintf(" from %s %s to %s", r.Level, r.From, r.To)
	}
	return what
}

// What says what moves, or would have to.
func (p Plan) What() string {
	parts := make([]string, len(p.Relocations))
	for i, one := range p.Relocations {
		parts[i] = one.String()
	}
	return strings.Join(parts, " and ")
}

// Sentence says what will be done at some time, or why nothing can be.
func (p Plan) Sentence(due time.Time) string {
	helps := "moving " + p.What() + " would help, "
	switch p.Reason {
	case scheduling.ReasonMoveAhead:
		return fmt.Sprintf("will move %s at %s", p.What(), due.UTC().Format(time.RFC3339))
	case scheduling.ReasonMoveNotAllowed:
		return helps + fmt.Sprintf("which annotation %s: %s would allow", scheduling.AnnotationRepairMove, p.Obstacle)
	case scheduling.ReasonMoveBudget:
		return helps + fmt.Sprintf("but PodDisruptionBudget %s does not allow the eviction of all these pods", p.Obstacle)
	case scheduling.ReasonMoveUnowned:
		return helps + fmt.Sprintf("but pod %s has no controller that creates it again", p.Obstacle)
	case scheduling.ReasonMoveTied:
		return "moving " + p.What() +
			fmt.Sprintf(" might help, but it is not known whether %s can be used there", p.Obstacle)
	case scheduling.ReasonNoPlace:
		return "no placement was found for the gang, even if all its pods moved"
	default:
		return ""
	}
}
