package leaderworkerset

import (
	"strconv"

	"packtree.dev/podgrouper/internal/grouping"
)

// part is a subgroup of a group, or a leader outside of all subgroups.
type part struct {
	suffix string
	size   int32
}

// partSize returns how many pods a subgroup has; 0 for a set without subgroups.
func (s set) partSize() int32 {
	return s.Count(0, "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
}

func (s set) leaderExcluded() bool {
	return s.Text("leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType") == "LeaderExcluded"
}

// parts returns the parts of a group, the leader's first; nil if the group has no subgroups. If the subgroups divide
// the workers evenly, the leader comes on top: as one more pod in the first subgroup, or by itself. Otherwise the
// leader is one of the pods that are divided.
func (s set) parts() []part {
	size := s.partSize()
	if size == 0 {
		return nil
	}
	if s.leaderExcluded() {
		return append([]part{{leaderSuffix, 1}}, divide(s.size-1, size, 0)...)
	}
	if (s.size-1)%size == 0 {
		return divide(s.size-1, size, 1)
	}
	return divide(s.size, size, 0)
}

// divide returns subgroups of a size. The first has the additional pods of more; the rest makes a smaller one.
func divide(pods, size, more int32) []part {
	var parts []part
	for left := pods; (left > 0 || more > 0) && len(parts) <= grouping.MostSubGroups; left -= min(size, left) {
		parts = append(parts, part{partSuffix(number(int32(len(parts)))), min(size, left) + more})
		more = 0
	}
	return parts
}

const leaderSuffix = "-leader"

func partSuffix(index string) string { return "-subgroup-" + index }

func groupName(index string) string { return "group-" + index }

func number(n int32) string { return strconv.Itoa(int(n)) }
