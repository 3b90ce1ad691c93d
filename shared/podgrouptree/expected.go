package podgrouptree

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Expected is how many pods leaves are expected to have, by the name of the leaf. Of a leaf without an entry only its
// MinMember is known.
type Expected map[string]int32

// longestExpected is the maximum size of these numbers in a PodGroup's annotations, in bytes. The API server allows 256
// KiB for all annotations.
const longestExpected = 128 << 10

// String returns the numbers in the form of AnnotationExpectedPods: a JSON object with sorted names, such as
// {"leader":1,"worker":4}. It is empty if there are none, or more than an annotation can have: leaves are then expected
// to have their MinMember.
func (e Expected) String() string {
	if len(e) == 0 {
		return ""
	}
	written, err := json.Marshal(e)
	if err != nil || len(written) > longestExpected {
		return ""
	}
	return string(written)
}

// ParseExpected reads the annotations of a PodGroup or a PodGang. It returns nil if they have no expected pods, and an
// error if they are malformed.
func ParseExpected(annotations map[string]string) (Expected, *field.Error) {
	return parseCounts(annotations, scheduling.AnnotationExpectedPods)
}

// parseCounts reads numbers of pods by the names of leaves.
func parseCounts(annotations map[string]string, key string) (map[string]int32, *field.Error) {
	written, found := annotations[key]
	if !found {
		return nil, nil
	}
	wrong := func(reason string) *field.Error {
		return field.Invalid(field.NewPath("metadata", "annotations").Key(key), written, reason)
	}
	var counts map[string]int32
	if err := json.Unmarshal([]byte(written), &counts); err != nil || counts == nil {
		return nil, wrong(
			fmt.Sprintf("must be a JSON object of names of leaves and numbers of pods up to %d, "+
				"such as "+`{"worker":4}, or {"":4} without subgroups`, math.MaxInt32))
	}
	for _, name := range sortedKeys(counts) {
		if counts[name] < 0 {
			return nil, wrong(fmt.Sprintf("leaf %q cannot have fewer than 0 pods", name))
		}
	}
	return counts, nil
}

func sortedKeys[M ~map[string]int32](of M) []string { return slices.Sorted(maps.Keys(of)) }
