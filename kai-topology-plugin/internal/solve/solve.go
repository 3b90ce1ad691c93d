// Package solve decides a gang: whether it can run now, and which pod goes to which node. It is asked by the plugin
// and by the offline commands alike.
//
// A gang is decided for the pods that are still to come, too: its own, and those of gangs that will have to follow it
// into the same domain. Alone, its first pods would go where they leave the least room behind, and the others can go
// nowhere else. The steps are, in this order: the spares that domains keep (leaving.go), the pods that are expected
// (expected.go), the gangs that follow (here), the rules that pods of the gang have about each other (package
// simulation), and the engine (package decision).
package solve

import (
	"context"
	"maps"
	"slices"
	"sort"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/simulation"
	"packtree.dev/kai-topology-plugin/internal/spares"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Request is a gang that can be planned, and all that its decision is made of.
type Request struct {
	decision.Question
	// Followers are the gangs that have to go where the gang goes, if it decides that now.
	Followers []*gang.Gang
	// Note is added to what the answer says of pods that have no node.
	Note string
	// Spares are what domains keep from the gang, and Mends says that it may use them where it has no other place.
	Spares spares.Kept
	Mends  bool
}

// place answers a request as if nothing were kept as spares.
func place(ctx context.Context, request Request) (*decision.Answer, error) {
	followers := slices.Clone(request.Followers)
	for i, follower := range followers {
		followers[i], _ = whole(follower)
	}
	decide := simulation.Decide
	if len(followers) > 0 {
		decide = leader(followers).decide
	}
	var answer *decision.Answer
	if all, coming := whole(request.Gang); len(coming) > 0 {
		question := request.Question
		question.Gang, question.Unproved = all, true
		expecting, err := decide(ctx, question)
		if err != nil {
			return nil, err
		}
		if answer, err = now(ctx, request.Question, coming, expecting); err != nil {
			return nil, err
		}
	}
	if answer == nil {
		alone, err := decide(ctx, request.Question)
		if err != nil {
			return nil, err
		}
		answer = alone
	}
	return answer, nil
}

// leader decides gangs that others, at least one, have to follow.
type leader []*gang.Gang

// decide has a gang that leads go to a domain that has room for all of its followers, or else for as many as possible
// of those that rank first. A gang that fits nowhere with followers goes without: they may wait, but do not keep it
// from starting.
func (followers leader) decide(ctx context.Context, question decision.Question) (*decision.Answer, error) {
	slices.SortFunc(followers, func(a, b *gang.Gang) int { return a.Rank().Compare(b.Rank()) })
	together, err := fit(ctx, question, followers)
	if err != nil {
		return nil, err
	}
	if together == nil {
		alone, err := simulation.Decide(ctx, question)
		if err != nil || alone.Verdict != scheduling.ReasonPlaced {
			return alone, err
		}
		if together, err = most(ctx, question, followers); err != nil || together == nil {
			return alone, err
		}
	}
	return beside(ctx, question, together)
}

// placedFollowers are followers and the nodes that were found for their pods.
type placedFollowers struct {
	followers []*gang.Gang
	// nodes has the node of each pod by its name: all gangs that share a constraint are of one namespace.
	nodes map[string]string
	steps int
}

// most finds room for the gang and as many of the first followers as possible; nil if there is none for the first one.
func most(ctx context.Context, question decision.Question, followers []*gang.Gang) (best *placedFollowers, err error) {
	// All of them have been tried.
	sort.Search(len(followers)-1, func(i int) bool {
		if err != nil {
			return true
		}
		var found *placedFollowers
		if found, err = fit(ctx, question, followers[:i+1]); found != nil {
			best = found
		}
		return found == nil
	})
	return best, err
}

// fit finds room for the gang and all of the followers; nil if there is none.
func fit(ctx context.Context, question decision.Question, followers []*gang.Gang) (*placedFollowers, error) {
	question.With = followers
	question.Terse = true // Nobody reads its message.
	answer, err := decision.Decide(ctx, question)
	if err != nil || answer.Verdict != scheduling.ReasonPlaced {
		return nil, err
	}
	return &placedFollowers{followers: followers, nodes: answer.Nodes, steps: answer.Steps}, nil
}

// beside decides the gang as if its followers stood where room was found for them. The gang's own pods may have rules
// that the search for all did not look at: if these leave no place there, it goes wherever it can.
func beside(ctx context.Context, question decision.Question, together *placedFollowers) (*decision.Answer, error) {
	led, shared := *question.Gang, *question.Gang.Shared
	led.Shared = &shared
	kept := map[gang.Key]clusterview.Reserved{}
	reserved := maps.Clone(question.Reserved)
	if reserved == nil {
		reserved = clusterview.Reserved{}
	}
	for _, follower := range together.followers {
		room := clusterview.Reserved{}
		for _, pod := range follower.Pending {
			if node, ok := together.nodes[pod.Name]; ok {
				room[node] = append(room[node], pod)
				reserved[node] = append(slices.Clip(reserved[node]), pod)
			}
		}
		kept[follower.Key()] = room
		shared.Add(follower.Key(), slices.Sorted(maps.Keys(room)))
	}
	there := question
	there.Gang, there.Reserved, there.Unproved, there.Hops = &led, reserved, true, false
	answer, err := simulation.Decide(ctx, there)
	if err != nil {
		return nil, err
	}
	if answer.Verdict != scheduling.ReasonPlaced {
		return simulation.Decide(ctx, question)
	}
	answer.Kept = kept
	answer.Optimal = false // Of what the followers leave.
	answer.Steps += together.steps
	return answer, nil
}
