package preemption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/brief"
)

// maxNamed is how many gangs a sentence names.
const maxNamed = 3

// String names the victims for a gang, and their domain.
func (c *Choice) String() string {
	where := ""
	if c.Where != "" {
		where = " in " + c.Where
	}
	if len(c.Victims) == 0 {
		return fmt.Sprintf("room is becoming free%s: waiting for %s to terminate", where, brief.Count(len(c.Awaited), "pod"))
	}
	gangs, single := map[gang.Key]int{}, 0
	for _, victim := range c.Victims {
		if victim.Gang == (gang.Key{}) {
			single++
		} else {
			gangs[victim.Gang]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(gangs), func(a, b gang.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var parts []string
	for i, key := range keys {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("pods of %s", brief.Count(len(keys)-i, "more gang")))
			break
		}
		parts = append(parts, fmt.Sprintf("%s of %s", brief.Count(gangs[key], "pod"), key))
	}
	if single > 0 {
		parts = append(parts, brief.Count(single, "pod")+" without a gang")
	}
	return fmt.Sprintf("room is being made%s: waiting for %s to terminate", where, strings.Join(parts, ", "))
}
