package grouping

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// Limit is how many pods a workload runs at a time.
type Limit struct {
	// Pods is the number; 0 if it is unknown or the workload is suspended.
	Pods int32
	// Raise says what a user has to raise to have more pods; empty if nothing helps.
	Raise string
}

// Expected returns how many pods an owner with this content is expected to have; nil if the content is not known.
func (l Limit) Expected(content Fields) *int32 {
	if content == nil {
		return nil
	}
	return &l.Pods
}

func (l Limit) tooMany() string {
	reason := fmt.Sprintf("at most %d run at a time, so that none ever starts: lower it", l.Pods)
	if l.Raise != "" {
		reason += ", or raise " + l.Raise
	}
	return reason
}

// MinMember returns how many pods must start together, by the annotation kai.scheduler/batch-min-member, or otherwise
// if it is not set or no such number. A number above the limit stays, with an error: else the pods would start with
// fewer than the user asked for. Path is that of the annotations.
func MinMember(annotations map[string]string, path *field.Path, otherwise int32, limit Limit) (int32, field.ErrorList) {
	written, given := annotations[kai.AnnotationBatchMinMember]
	if !given {
		return otherwise, nil
	}
	path = path.Key(kai.AnnotationBatchMinMember)
	number, err := strconv.ParseInt(written, 10, 32)
	switch {
	case written == "":
		return otherwise, field.ErrorList{field.Required(path, notEmpty+instead(otherwise))}
	case err != nil || number < 1:
		return otherwise, field.ErrorList{field.Invalid(path, written,
			"must be a whole number above 0"+instead(otherwise))}
	case limit.Pods > 0 && int32(number) > limit.Pods:
		return int32(number), field.ErrorList{field.Invalid(path, written, limit.tooMany())}
	}
	return int32(number), nil
}

// OwnMinMember returns how many pods of a workload of equal pods must start together: 1 unless the workload's own
// annotation asks for more, since such pods need not depend on each other.
func OwnMinMember(owner Owner, limit Limit) (int32, field.ErrorList) {
	return MinMember(owner.GetAnnotations(), annotationsPath, 1, limit)
}

func instead(number int32) string {
	return fmt.Sprintf("; %d is used instead", number)
}
