package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// maxNamed is how many gangs a sentence names.
const maxNamed = 3

// sentenceOf says who leaves for a gang.
func sentenceOf(c *choice) string {
	where := ""
	if c.where != "" {
		where = " in " + c.where
	}
	if len(c.victims) == 0 {
		return fmt.Sprintf("room is becoming free%s: waiting for %s to be gone", where, count(len(c.awaited), "pod"))
	}
	gangs, single := map[gang.Key]int{}, 0
	for _, victim := range c.victims {
		if victim.gang == (gang.Key{}) {
			single++
		} else {
			gangs[victim.gang]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(gangs), func(a, b gang.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var parts []string
	for i, key := range keys {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("pods of %s", count(len(keys)-i, "more gang")))
			break
		}
		parts = append(parts, fmt.Sprintf("%s of %s", count(gangs[key], "pod"), key))
	}
	if single > 0 {
		parts = append(parts, count(single, "pod")+" without a gang")
	}
	return fmt.Sprintf("room is being made%s: waiting for %s to be gone", where, strings.Join(parts, ", "))
}

func count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
