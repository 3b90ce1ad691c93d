// Package solve decides a gang: whether it can run now, and which pod goes to which node. The scheduler, the offline
// commands and the simulator call it alike. Solve has the steps from the request to the answer.
package solve

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// wish is what a place should have besides what the gang needs.
type wish uint

// The wishes, the first to be given up first. Without leading and expecting, the first pods of a gang would go where
// they leave the least room behind, and later pods could go nowhere else.
const (
	leading   wish = 1 << iota // It suits gangs that follow into the same domain (followers.go).
	expecting                  // It has room for pods that are expected, but do not exist yet (expected.go).
	lasting                    // Its nodes do not evict pods after a while (lasting.go).
	keeping                    // It takes no room that is reserved for overdue gangs.
)

// Solve answers a request. It prefers places with room for as many as possible of the gang's expected pods, and nodes
// that will not evict its pods. A gang is Waiting if only the room reserved for overdue gangs keeps it out; the answer
// names that room. Solve changes nothing.
func Solve(ctx context.Context, request Request) (answer *Answer, err error) {
	request.View.Follow(request.Nodes)
	// 1. A gang that lacks pods, or has a group without an anchor, has no place as a whole.
	if held := request.held(); held != nil {
		return mend(ctx, request, Held(request.Gang, held))
	}
	all := wishesOf(request)
	var refusal *Answer // With all room of overdue gangs left alone.
	// 2. It is asked with all wishes. One that is not granted is given up, and those before it are made again.
	var missed wish
	for wishes := all.made; ; wishes = wishes&^missed | all.made&(missed-1) {
		given := all.outer(request, wishes)
		asked, together := given, (*Answer)(nil)
		if wishes&expecting != 0 {
			asked.Gang, asked.Unproved = all.whole, true
		}
		// 3. It goes to a domain with room for as many followers as possible, and leaves them that room.
		if wishes&leading != 0 {
			if asked, together, err = joint(ctx, asked, all.followers); err != nil {
				return nil, err
			}
			if missed = leading; together == nil {
				continue
			}
		}
		// 4. The engine plans it (session.go), and the plan keeps the rules among its pods (replay.go).
		if answer, err = byRules(ctx, asked); err != nil {
			return nil, err
		}
		// 5. What was asked beyond the request leaves the answer.
		if answer, missed, err = all.granted(ctx, given, wishes, answer, together); err != nil {
			return nil, err
		}
		if missed == 0 {
			break
		}
		if missed == keeping {
			refusal = answer
		}
	}
	// 6. A gang that fits only in room reserved for overdue gangs is Waiting.
	switch placed := answer.Verdict == scheduling.ReasonPlaced; {
	case placed && refusal != nil:
		answer = &Answer{
			Verdict: scheduling.ReasonWaiting, Message: request.Note, Overtaking: true, Basis: refusal.Basis,
			Groups: refusal.Groups, Steps: refusal.Steps + answer.Steps,
		}
	case placed && len(request.Overdue) > 0 && answer.Message != "":
		answer.Message += "; " + request.Note
	}
	// 7. A gang that stands below its minimum gets back as many lost pods as fit.
	return mend(ctx, request, answer)
}

// wishes are what is wished for a gang, and what that is about.
type wishes struct {
	made wish
	// followers are in the order of their ranks, with their expected pods.
	followers []*gang.Gang
	// whole is the gang with the pods that are coming.
	whole  *gang.Gang
	coming []*corev1.Pod
	// passing names the nodes that evict pods after a while.
	passing []string
}

func wishesOf(request Request) *wishes {
	all := &wishes{passing: evicting(request)}
	all.whole, all.coming = whole(request.Gang)
	for _, follower := range request.Followers {
		follower, _ = whole(follower)
		all.followers = append(all.followers, follower)
	}
	slices.SortFunc(all.followers, func(a, b *gang.Gang) int { return a.Rank().Compare(b.Rank()) })
	for i, some := range []bool{
		len(all.followers) > 0, len(all.coming) > 0, len(all.passing) > 0, len(request.Overdue) > 0,
	} {
		if some {
			all.made |= leading << i
		}
	}
	return all
}

// outer returns the request with those wishes that are about nodes and not about further pods.
func (all *wishes) outer(request Request, wishes wish) Request {
	if wishes&keeping != 0 {
		request = request.Keeping()
	}
	if wishes&lasting != 0 {
		request.Absent, request.Unproved = append(slices.Clip(request.Absent), all.passing...), true
	}
	return request
}

// granted returns the answer for the pods that exist, and the wish that it does not grant; 0 if it grants all.
func (all *wishes) granted(
	ctx context.Context, given Request, wishes wish, answer, together *Answer,
) (_ *Answer, missed wish, err error) {
	if answer.Verdict != scheduling.ReasonPlaced {
		return answer, wishes & -wishes, nil
	}
	if together != nil {
		answer.Kept, answer.Steps = together.Kept, answer.Steps+together.Steps
		answer.Optimal = false // Of what the followers leave.
	}
	if wishes&expecting != 0 {
		if answer, err = now(ctx, given, all.coming, answer); answer == nil || err != nil {
			return nil, expecting, err
		}
	}
	if wishes&lasting != 0 {
		if len(answer.Nodes) < len(given.Gang.Pending) {
			return nil, lasting, nil
		}
		answer.Optimal = false // The other nodes might do with fewer domains.
	}
	return answer, 0, nil
}

// mend adds to an answer without nodes those of the pods that can be placed beside the others, if the gang mends.
func mend(ctx context.Context, request Request, answer *Answer) (*Answer, error) {
	if request.Mends && !request.Terse && (answer.Verdict != scheduling.ReasonPlaced || len(answer.Nodes) == 0) {
		part := request
		part.Gang, part.Unproved, part.Mends, part.Lacks = request.Gang.Mending(), true, false, nil
		part.Gang.Pending, _ = request.Gang.Anchored(request.knows)
		found, err := Solve(ctx, part)
		if err != nil {
			return nil, err
		}
		if len(found.Nodes) > 0 {
			mended := *answer
			mended.Nodes, mended.Order, mended.Groups = found.Nodes, found.Order, found.Groups
			mended.Steps += found.Steps
			return &mended, nil
		}
	}
	if len(answer.Nodes) == 0 {
		answer.Least = leastOf(request.Gang, answer)
	}
	return answer, nil
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
