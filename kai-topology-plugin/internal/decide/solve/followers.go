package solve

import (
	"context"
	"maps"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// lead decides a gang that others have to follow: in a domain with room for these, as far as there is one.
func lead(ctx context.Context, request Request, followers []*gang.Gang) (*Answer, error) {
	led, err := joint(ctx, request, followers)
	if err != nil {
		return nil, err
	}
	answer, err := byRules(ctx, led.request)
	switch {
	case err != nil || len(led.kept) == 0:
		return answer, err
	case answer.Verdict != scheduling.ReasonPlaced:
		// Its pods may have rules that the search for all did not look at: it goes wherever it can then.
		return byRules(ctx, request)
	}
	answer.Kept = led.kept
	answer.Optimal = false // Of what the followers leave.
	answer.Steps += led.steps
	return answer, nil
}

// led is a request about a gang that others have to follow, as if these stood where room was found for them.
type led struct {
	request Request
	// kept is where that is; empty if no gang follows, or none finds room.
	kept  map[gang.Key]clusterview.Reserved
	steps int
}

// joint sends a gang to a domain that has room for all of its followers, or else for as many as possible in their order
// of rank. A gang that fits nowhere with followers goes without: they may wait, but do not keep it from starting.
func joint(ctx context.Context, request Request, followers []*gang.Gang) (led, error) {
	found := led{request: request}
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
		switch {
		case err != nil:
			return led{}, err
		case answer.Verdict == scheduling.ReasonPlaced:
			fit, found = size, leading(request, all.with, answer)
		default:
			unfit = size
		}
	}
	return found, nil
}

// leading asks about a gang as if followers stood where an answer for all of them has their pods. It has these by their
// names: all gangs that share a constraint are of one namespace.
func leading(request Request, followers []*gang.Gang, together *Answer) led {
	leader, shared := *request.Gang, *request.Gang.Shared
	leader.Shared, shared.Others = &shared, slices.Clip(shared.Others)
	kept := map[gang.Key]clusterview.Reserved{}
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
		kept[follower.Key()] = room
		shared.Add(follower.Key(), slices.Sorted(maps.Keys(room)))
	}
	request.Gang, request.Reserved, request.Unproved = &leader, reserved, true
	return led{request: request, kept: kept, steps: together.Steps}
}
