package solve

import (
	"context"
	"maps"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// joint has a gang go to a domain that has room for all of its followers, or else for as many as possible in their
// order of rank. It returns the request in which these stand where room was found, and the answer in which that room is
// Kept: nil if the gang fits nowhere with followers. They may wait, but do not keep it from starting.
func joint(ctx context.Context, request Request, followers []*gang.Gang) (led Request, together *Answer, err error) {
	all := request
	all.Terse = true // Its message is not shown.
	// As many of the first followers find room as fit, and not as many as unfit. All are tried first, and then one.
	for fit, unfit := 0, len(followers)+1; unfit-fit > 1; {
		size := (fit + unfit) / 2
		switch {
		case unfit > len(followers):
			size = len(followers)
		case fit == 0:
			size = 1
		}
		all.with = followers[:size]
		answer, err := engine(ctx, all)
		if err != nil {
			return request, nil, err
		}
		if answer.Verdict == scheduling.ReasonPlaced {
			fit, together = size, answer
			led = beside(request, all.with, together)
		} else {
			unfit = size
		}
	}
	return led, together, nil
}

// beside asks about a gang as if followers stood where an answer for all of them has their pods, and notes in the
// answer that this room is Kept. The answer has the pods by their names: all gangs that share a constraint are of one
// namespace.
func beside(request Request, followers []*gang.Gang, together *Answer) Request {
	leader, shared := *request.Gang, *request.Gang.Shared
	leader.Shared, shared.Others = &shared, slices.Clip(shared.Others)
	together.Kept = map[gang.Key]clusterview.Reserved{}
	reserved := maps.Clone(request.Reserved)
	if reserved == nil {
		reserved = clusterview.Reserved{}
	}
	for _, follower := range followers {
		room := clusterview.Reserved{}
		for _, pod := range follower.Pending {
			if node, ok := together.Nodes[pod.Name]; ok {
				room[node] = append(room[node], pod)
				reserved[node] = append(slices.Clip(reserved[node]), pod)
			}
		}
		together.Kept[follower.Key()] = room
		shared.Add(follower.Key(), slices.Sorted(maps.Keys(room)))
	}
	request.Gang, request.Reserved, request.Unproved = &leader, reserved, true
	return request
}
