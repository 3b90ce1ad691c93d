// Package solve decides a gang: whether it can run now, and which pod goes to which node. The scheduler, the offline
// commands and the simulator call it alike. Solve's steps, from the outermost in:
//
//  1. A gang that stands below its minimum, and cannot have all that it needs, gets back as many lost pods as fit
//     (mend). All further steps are about the gang as a whole.
//  2. Room reserved for overdue gangs is left alone. A gang that fits only in such room is Waiting (keeping).
//  3. Nodes that would evict a pod after a while are left out as long as all pods find others (lasting.go).
//  4. Pods that are expected, but do not exist yet, are placed with the others. They never keep these from starting
//     (expected.go).
//  5. The place must also suit gangs that follow into the same domain (followers.go).
//  6. Rules among the gang's own pods are read from the pods (rules.go). Where there are some, the engine's plan is
//     replayed pod by pod with kube-scheduler's own filters, and where it fails there is another plan (replay.go).
//  7. The gang and its cluster are translated (translate.go) for the engine, which decides (session.go).
//
// Without the fourth and the fifth step, the first pods of a gang would go where they leave the least room behind, and
// later pods could go nowhere else.
package solve

import (
	"context"
	"maps"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Solve answers a request. It prefers places with room for as many as possible of the gang's expected pods, and nodes
// that will not evict its pods. A gang is Waiting if only the room reserved for overdue gangs keeps it out; the answer
// names that room. Solve changes nothing.
func Solve(ctx context.Context, request Request) (answer *Answer, err error) {
	if request.Lacks != nil {
		answer = Held(request.Gang, request.Lacks)
	} else {
		answer, err = keeping(ctx, request)
	}
	if err == nil && request.Mends && !request.Terse &&
		(answer.Verdict != scheduling.ReasonPlaced || len(answer.Nodes) == 0) {
		answer, err = mend(ctx, request, answer)
	}
	if err == nil && len(answer.Nodes) == 0 {
		answer.Least = leastOf(request.Gang, answer)
	}
	return answer, err
}

// leastOf returns the least of each resource that every pending pod of a gang asks for; nil if the answer rests on more
// than what nodes have. A node that has less takes no pod of the gang.
func leastOf(g *gang.Gang, answer *Answer) (least []Amount) {
	if !answer.Basis.Lasts() || g.Shared != nil || g.LooksAtOthers() {
		return nil
	}
	for i, pod := range g.Pending {
		if i > 0 && kubeframework.Alike(g.Pending[i-1], pod) {
			continue
		}
		requests, err := kubeframework.Requests(pod)
		if err != nil {
			return nil
		}
		if i == 0 {
			for _, resource := range slices.Sorted(maps.Keys(requests)) {
				least = append(least, Amount{resource, requests[resource]})
			}
		}
		for at := range least {
			least[at].Amount = min(least[at].Amount, requests[least[at].Resource])
		}
	}
	return slices.DeleteFunc(least, func(one Amount) bool { return one.Amount <= 0 })
}

// keeping decides a gang as a whole, and keeps it from room that is reserved for overdue gangs.
func keeping(ctx context.Context, request Request) (*Answer, error) {
	if len(request.Overdue) == 0 {
		return solve(ctx, request)
	}
	answer, err := solve(ctx, request.Keeping())
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
	return &Answer{
		Verdict: scheduling.ReasonWaiting, Message: request.Note, Overtaking: true, Basis: answer.Basis,
		Groups: answer.Groups, Steps: answer.Steps + free.Steps,
	}, nil
}

func solve(ctx context.Context, request Request) (*Answer, error) {
	answer, err := lasting(ctx, request)
	if answer == nil && err == nil {
		answer, err = place(ctx, request)
	}
	return answer, err
}

// mend adds to an answer without nodes those of the pods that can be placed beside the others.
func mend(ctx context.Context, request Request, refusal *Answer) (*Answer, error) {
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
func place(ctx context.Context, request Request) (*Answer, error) {
	followers := make([]*gang.Gang, len(request.Followers))
	for i, follower := range request.Followers {
		followers[i], _ = whole(follower)
	}
	slices.SortFunc(followers, func(a, b *gang.Gang) int { return a.Rank().Compare(b.Rank()) })
	if all, coming := whole(request.Gang); len(coming) > 0 {
		expecting := request
		expecting.Gang, expecting.Unproved = all, true
		answer, err := lead(ctx, expecting, followers)
		if err == nil {
			answer, err = now(ctx, request, coming, answer)
		}
		if answer != nil || err != nil {
			return answer, err
		}
	}
	return lead(ctx, request, followers)
}
