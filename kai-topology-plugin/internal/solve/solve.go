// Package solve decides a gang: whether it can run now, and which pod goes to which node. It is asked by the plugin
// and by the offline commands alike.
//
// A gang is decided for the pods that are still to come, too: its own, and those of gangs that will have to follow it
// into the same domain. Alone, its first pods would go where they leave the least room behind, and the others can go
// nowhere else. The steps are, in this order: the pods that are expected (expected.go), the gangs that follow (here),
// the rules that pods of the gang have about each other (package simulation), and the engine (package decision).
package solve

import (
	"context"
	"maps"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/simulation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Request is a gang that can be planned, and all that its decision is made of.
type Request struct {
	decision.Question
	// Followers are the gangs that have to go where the gang goes, if it decides that now.
	Followers []*gang.Gang
	// Overdue is room that is reserved for gangs which the gang would overtake once too often, and Note says so.
	Overdue clusterview.Reserved
	Note    string
	// Mends is set for a gang that stands and is to be mended as far as possible: if it cannot have all that it needs,
	// the answer says so, and has the Nodes of those pods that can be placed all the same.
	Mends bool
	// Lacks holds a gang that Mends of which pods are yet to be made.
	Lacks *gang.Hold
}

// Keeping returns the question in which room for overdue gangs is reserved, too.
func (r Request) Keeping() decision.Question {
	question := r.Question
	question.Reserved = r.Reserved.And(r.Overdue)
	return question
}

// Solve answers a request, and the answer says which room is kept for whom. Among the places where the gang can start
// it prefers those with room for as many as possible of the pods that it is expected to have, and to these nodes that
// will not evict its pods. A gang that is kept out only by room for gangs that are overdue is Waiting. It changes
// nothing.
func Solve(ctx context.Context, request Request) (answer *decision.Answer, err error) {
	if request.Lacks != nil {
		answer = decision.Held(request.Gang, request.Lacks)
	} else {
		answer, err = keeping(ctx, request)
	}
	if err == nil && request.Mends && answer.Verdict != scheduling.ReasonPlaced {
		answer, err = mend(ctx, request, answer)
	}
	return answer, err
}

// keeping decides a gang as a whole, and keeps it from room that is reserved for overdue gangs.
func keeping(ctx context.Context, request Request) (*decision.Answer, error) {
	if len(request.Overdue) == 0 {
		return solve(ctx, request)
	}
	kept := request
	kept.Question = request.Keeping()
	answer, err := solve(ctx, kept)
	if err != nil {
		return nil, err
	}
	if answer.Verdict == scheduling.ReasonPlaced {
		if answer.Message != "" {
			answer.Message += "; " + request.Note
		}
		return answer, nil
	}
	free, err := solve(ctx, request)
	if err != nil || free.Verdict != scheduling.ReasonPlaced {
		return free, err // Reservations make no difference to it.
	}
	return &decision.Answer{
		Verdict: scheduling.ReasonWaiting, Message: request.Note, Overtaking: true, Basis: answer.Basis,
		Groups: answer.Groups, Steps: answer.Steps + free.Steps,
	}, nil
}

func solve(ctx context.Context, request Request) (*decision.Answer, error) {
	answer, err := lasting(ctx, request)
	if answer == nil && err == nil {
		answer, err = place(ctx, request)
	}
	return answer, err
}

// mend adds to a refusal the nodes of those pods that can be placed beside the others.
func mend(ctx context.Context, request Request, refusal *decision.Answer) (*decision.Answer, error) {
	request.Gang, request.Unproved = request.Gang.Mending(), true
	found, err := keeping(ctx, request)
	if err != nil || len(found.Nodes) == 0 {
		return refusal, err
	}
	mended := *refusal
	mended.Nodes, mended.Order, mended.Groups = found.Nodes, found.Order, found.Groups
	mended.Steps += found.Steps
	return &mended, nil
}

// place decides with the pods that are expected, or without if these stand in the way.
func place(ctx context.Context, request Request) (answer *decision.Answer, err error) {
	followers := make([]*gang.Gang, len(request.Followers))
	for i, follower := range request.Followers {
		followers[i], _ = whole(follower)
	}
	slices.SortFunc(followers, func(a, b *gang.Gang) int { return a.Rank().Compare(b.Rank()) })
	questions := []decision.Question{request.Question}
	all, coming := whole(request.Gang)
	if len(coming) > 0 {
		expecting := request.Question
		expecting.Gang, expecting.Unproved = all, true
		questions = []decision.Question{expecting, request.Question}
	}
	for i, question := range questions {
		led, err := lead(ctx, question, followers)
		if err != nil {
			return nil, err
		}
		answer, err = simulation.Decide(ctx, led.question)
		if err == nil && len(led.kept) > 0 {
			// Its pods may have rules that the search for all did not look at: it goes wherever it can then.
			if answer.Verdict != scheduling.ReasonPlaced {
				answer, err = simulation.Decide(ctx, question)
			} else {
				led.keep(answer)
			}
		}
		if err == nil && i < len(questions)-1 {
			answer, err = now(ctx, request.Question, coming, answer)
		}
		if answer != nil || err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// led is what is asked about a gang that others have to follow: as if these stood where room was found for them.
type led struct {
	question decision.Question
	// kept is where that is; empty if nobody follows, or none of them finds room.
	kept  map[gang.Key]clusterview.Reserved
	steps int
}

// lead has a gang go to a domain that has room for all of its followers, or else for as many as possible of those that
// rank first. A gang that fits nowhere with followers goes without: they may wait, but do not keep it from starting.
func lead(ctx context.Context, question decision.Question, followers []*gang.Gang) (led, error) {
	found := led{question: question}
	together := question
	together.Terse = true // Nobody reads its message.
	// As many of the first followers find room as fit, and not as many as unfit. All are tried first, and then one.
	for fit, unfit := 0, len(followers)+1; unfit-fit > 1; {
		size := (fit + unfit) / 2
		switch {
		case unfit > len(followers):
			size = len(followers)
		case fit == 0:
			size = 1
		}
		together.With = followers[:size]
		answer, err := decision.Decide(ctx, together)
		switch {
		case err != nil:
			return led{}, err
		case answer.Verdict == scheduling.ReasonPlaced:
			fit, found = size, leading(question, together.With, answer)
		default:
			unfit = size
		}
	}
	return found, nil
}

// leading asks about a gang as if followers stood where an answer for all of them has their pods. It has these by their
// names: all gangs that share a constraint are of one namespace.
func leading(question decision.Question, followers []*gang.Gang, together *decision.Answer) led {
	leader, shared := *question.Gang, *question.Gang.Shared
	leader.Shared, shared.Others = &shared, slices.Clip(shared.Others)
	kept := map[gang.Key]clusterview.Reserved{}
	reserved := maps.Clone(question.Reserved)
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
	question.Gang, question.Reserved, question.Unproved = &leader, reserved, true
	return led{question: question, kept: kept, steps: together.Steps}
}

// keep has the answer say which room is kept.
func (l led) keep(answer *decision.Answer) {
	answer.Kept = l.kept
	answer.Optimal = false // Of what the followers leave.
	answer.Steps += l.steps
}
