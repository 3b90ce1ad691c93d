package status

import (
	"fmt"
	"slices"
	"strings"
)

// few is how many names a message spells out.
const few = 5

// Few lists names in order; of many, the first few and how many more there are.
func Few(names []string) string {
	ordered := slices.Sorted(slices.Values(names))
	if len(ordered) <= few {
		return strings.Join(ordered, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ordered[:few], ", "), len(ordered)-few)
}
