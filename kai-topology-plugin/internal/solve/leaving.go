package solve

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/spares"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Solve answers a request, and the answer says which room is kept for whom. Among the places where the gang can start
// it prefers those with room for as many as possible of the pods that it is expected to have. It changes nothing.
//
// Domains keep their spares. The engine knows no such rule, so that nodes are closed which are kept, and there may be
// others to keep: that nothing fits is claimed only where these make no difference.
func Solve(ctx context.Context, request Request) (answer *decision.Answer, err error) {
	defer func() {
		if err == nil && request.Note != "" && answer.Message != "" {
			answer.Message += "; " + request.Note
		}
	}()
	closed := request.Spares.Closed()
	answer, err = place(ctx, request.without(closed))
	if err != nil || len(closed) == 0 ||
		answer.Verdict == scheduling.ReasonPlaced && len(answer.Nodes) == len(request.Gang.Pending) {
		return answer, err
	}
	// Where the gang gets no more with all nodes either, spares have nothing to do with it.
	free, err := place(ctx, request)
	switch {
	case err != nil || request.Mends ||
		answer.Verdict != scheduling.ReasonPlaced && free.Verdict != scheduling.ReasonPlaced:
		return free, err
	case answer.Verdict == scheduling.ReasonPlaced:
		if len(free.Nodes) > len(answer.Nodes) {
			answer.Message += "; " + request.Spares.Note(nearest(answer))
		}
		return answer, nil
	}
	proved, all := request.Spares.Proved(spares.Reads(request.Gang.Pending))
	if all {
		return noted(request, answer, answer), nil
	}
	return otherwise(ctx, request, answer, free, proved)
}

// without is the request as if some nodes were gone.
func (r Request) without(nodes []string) Request {
	r.Absent = slices.Concat(r.Absent, nodes)
	return r
}

// otherwise is for a gang that fits nowhere beside the nodes that were closed first, and has a free place without
// spares. Others are kept where it would go then. If that does not help, it is only known not to fit if it would not,
// whichever are kept.
func otherwise(
	ctx context.Context, request Request, first, free *decision.Answer, proved []string,
) (*decision.Answer, error) {
	used := sets.New(slices.Collect(maps.Values(free.Nodes))...)
	if request.Spares.Leave(used) {
		return passing(free), nil
	}
	answer, err := place(ctx, request.without(request.Spares.Beside(used).Closed()))
	if err != nil || answer.Verdict == scheduling.ReasonPlaced {
		return passing(answer), err
	}
	never, err := place(ctx, request.without(proved))
	if err != nil {
		return nil, err
	}
	if never.Verdict == scheduling.ReasonPlaced {
		never = decision.Held(request.Gang, &gang.Hold{
			Reason: scheduling.ReasonUnknown, Message: "no placement was found that leaves enough nodes empty",
		})
		never.Explanations = first.Explanations
	}
	return passing(noted(request, never, first)), nil
}

// passing is an answer of which can only be known by looking for it anew whether it still holds.
func passing(answer *decision.Answer) *decision.Answer {
	if answer != nil {
		answer.Basis = clusterview.Basis{}
	}
	return answer
}

// noted has a refusal say what is kept as spares, near the place that the first one names.
func noted(request Request, refusal, first *decision.Answer) *decision.Answer {
	if given := first.Explanations; len(given) > 0 && len(given[0].Short) == 0 && len(given[0].Excluded) == 0 {
		// All nodes of a level are kept, and the engine knows of none.
		refusal.Message = "there is no room for the gang but on nodes that have to stay empty"
	}
	refusal.Message += "; " + request.Spares.Note(nearest(first))
	return refusal
}

// nearest is the domain that came nearest to having room.
func nearest(answer *decision.Answer) packing.Path {
	if len(answer.Explanations) == 0 {
		return nil
	}
	return answer.Explanations[0].Domain
}
