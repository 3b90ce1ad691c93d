package grouping

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// MinMember returns how many pods of a workload of like pods must start together, as its annotation says: 1 without it,
// since such pods need not know of each other. Most is how many pods it runs at a time, 0 if that is unknown or it is
// halted. A number above that stays, with a finding: the workload would otherwise start with fewer pods than its user
// asked for.
func MinMember(owner Owner, most int32) (int32, field.ErrorList) {
	written, given := owner.GetAnnotations()[kai.AnnotationBatchMinMember]
	if !given {
		return 1, nil
	}
	path := annotationsPath.Key(kai.AnnotationBatchMinMember)
	number, err := strconv.ParseInt(written, 10, 32)
	if err != nil || number < 1 {
		return 1, field.ErrorList{field.Invalid(path, written, "must be a whole number above 0; 1 is used instead")}
	}
	if most > 0 && int32(number) > most {
		return int32(number), field.ErrorList{field.Invalid(path, written,
			fmt.Sprintf("the %s runs at most %d pods at a time, so that it will never start", owner.Kind.Kind, most))}
	}
	return int32(number), nil
}
