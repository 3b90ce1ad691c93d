package bound

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/problem"
)

// UnitsFor is how many units of a level so many pods of a shape need inside a domain; math.MaxInt where they do
// not fit. It is exact for pods that go anywhere, and a bound for others. O(units, with a logarithm).
func UnitsFor(t *problem.Trial, shape int, pods int64, in problem.Place, level int) int {
	topology := t.P.Cluster.Topologies[in.Slot]
	t.Rooms = slices.Grow(t.Rooms[:0], min(topology.Domains[in.At].Size, topology.Rankings[level].Count))
	t.Rooms = t.P.Shapes[shape].UnitRooms(in.Slot, topology, in.At, level, t.Rooms)
	t.Steps += 1 + len(t.Rooms)/64
	if n, exact := byRoomiest(t.Rooms, pods); exact {
		return n
	}
	slices.Sort(t.Rooms)
	for n := 1; n <= len(t.Rooms); n++ {
		if pods -= t.Rooms[len(t.Rooms)-n]; pods <= 0 {
			return n
		}
	}
	return math.MaxInt
}

// UnitsAtLeast bounds unitsFor from below: each unit takes as many pods as the roomiest one. It is exact if there are
// enough of those. O(units), a nanosecond each.
func UnitsAtLeast(t *problem.Trial, shape int, pods int64, in problem.Place, level int) (least int, exact bool) {
	topology, s := t.P.Cluster.Topologies[in.Slot], t.P.Shapes[shape]
	from, to := topology.RanksIn(in.At, level)
	rooms := s.Dense(in.Slot, topology, level)[from:to]
	t.Steps += 1 + len(rooms)/problem.Passed
	inside := int64(0)
	for _, room := range rooms {
		inside += room
	}
	if inside < s.Sums[in.Slot][in.At] {
		return 1, false // Nodes in no domain of the level may take more.
	}
	return byRoomiest(rooms, pods)
}

// byRoomiest is how many rooms take so many pods if each is as large as the largest, and whether there are as many
// of those.
func byRoomiest(rooms []int64, pods int64) (least int, exact bool) {
	most, alike := int64(1), 0
	for _, room := range rooms {
		if room > most {
			most, alike = room, 0
		}
		if room == most {
			alike++
		}
	}
	least = int((pods + most - 1) / most)
	return least, least <= alike
}
