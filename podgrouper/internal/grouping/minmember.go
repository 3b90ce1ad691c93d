package grouping

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// Limit is how many pods a workload runs at a time.
type Limit struct {
	// Pods is the number, 0 if it is unknown or the workload is halted.
	Pods int32
	// Raise says what a user raises to have more; empty where nothing helps.
	Raise string
}

// Expected returns how many pods an owner of which the content is known is expected to have; nil where it is not known.
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

// MinMember returns how many pods must start together, as the annotation kai.scheduler/batch-min-member says, and
// otherwise where it is not given or is no such number. A number above the limit stays, with a finding: the pods would
// otherwise start with fewer than the user asked for. Path leads to the annotations.
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
		return otherwise, field.ErrorList{field.Invalid(path, written, "must be a whole number above 0"+instead(otherwise))}
	case limit.Pods > 0 && int32(number) > limit.Pods:
		return int32(number), field.ErrorList{field.Invalid(path, written, limit.tooMany())}
	}
	return int32(number), nil
}

// OwnMinMember returns how many pods of a workload of like pods must start together: 1 unless its own annotation asks for
// more, since such pods need not know of each other.
func OwnMinMember(owner Owner, limit Limit) (int32, field.ErrorList) {
	return MinMember(owner.GetAnnotations(), annotationsPath, 1, limit)
}

func instead(number int32) string {
	return fmt.Sprintf("; %d is used instead", number)
}
