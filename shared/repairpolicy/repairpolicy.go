// Package repairpolicy reads from annotations which groups may be moved for the repair of a gang, and when.
package repairpolicy

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// DefaultAfter is for how long a gang runs below its minimum before pods are moved, by default.
const DefaultAfter = 2 * time.Minute

// Policy says which groups may be moved for the repair of a gang, and when. The zero value moves nothing.
type Policy struct {
	// Move is a value of scheduling.AnnotationRepairMove; empty is scheduling.RepairMoveNone.
	Move string
	// After is for how long the gang has to be below its minimum first.
	After time.Duration
}

// moves are the values of scheduling.AnnotationRepairMove: each allows what those before it allow.
var moves = []string{scheduling.RepairMoveNone, scheduling.RepairMoveSubGroup, scheduling.RepairMoveGang}

// Allows reports whether the policy allows what another value of AnnotationRepairMove stands for.
func (p Policy) Allows(move string) bool {
	return slices.Index(moves, p.Move) >= max(1, slices.Index(moves, move))
}

// Musts returns, by the keys of the annotations, what each must be.
func Musts() map[string]string {
	return map[string]string{
		scheduling.AnnotationRepairMove: "must be " + strings.Join(moves[:len(moves)-1], ", ") + " or " +
			moves[len(moves)-1],
		scheduling.AnnotationRepairAfter: "must be a duration of at least 0, such as 2m",
	}
}

// Parse returns the policy in annotations; unset fields are as in unset. If one of them is wrong the policy moves
// nothing.
func Parse(annotations map[string]string, unset Policy) (Policy, field.ErrorList) {
	policy := unset
	var errs field.ErrorList
	wrong := func(key string) {
		path := field.NewPath("metadata", "annotations").Key(key)
		errs = append(errs, field.Invalid(path, annotations[key], Musts()[key]))
	}
	if move, said := annotations[scheduling.AnnotationRepairMove]; said {
		if policy.Move = move; !slices.Contains(moves, move) {
			wrong(scheduling.AnnotationRepairMove)
		}
	}
	if written, said := annotations[scheduling.AnnotationRepairAfter]; said {
		after, err := time.ParseDuration(written)
		if policy.After = after; err != nil || after < 0 {
			wrong(scheduling.AnnotationRepairAfter)
		}
	}
	if len(errs) > 0 {
		return Policy{}, errs
	}
	return policy, nil
}
