package solve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// maxPlans bounds how often the engine is asked about one gang, with one way to read its rules.
const maxPlans = 24

// byRules decides as the engine does, and keeps the rules that the gang's pods have about each other: anti-affinity and
// affinity, topology spread, volumes and devices that only so many can have. The engine knows none of these. Its plan
// is therefore replayed, pod by pod, with the profile's own filters, on a snapshot that shows each pod where it was
// put. A pod that is turned away moves to another node of the domain that its groups chose; if there is none, the
// domain is excluded for it and the engine plans again.
func byRules(ctx context.Context, request Request) (answer *Answer, err error) {
	r, err := replayOf(request)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return engine(ctx, request)
	}
	defer func() { err = errors.Join(err, r.assumed.ForgetAll(ctx)) }()
	readings := []bool{false}
	if r.rules.liftable {
		readings = append(readings, true)
	}
	var proof *Answer
	for _, lenient := range readings {
		r.lenient, r.excludedDomains = lenient, nil
		answer, placed, err := r.attempts(ctx)
		if err != nil || placed {
			return answer, err
		}
		proof = answer
	}
	if proof != nil {
		// Even without the rules among its pods the gang does not fit.
		proof.Steps = r.steps
		proof.Basis = clusterview.Basis{} // Where other pods stand has a say too.
		return proof, nil
	}
	return r.refused(), nil
}

// replayOf prepares the replay of plans for a request; nil if the gang's pods have no rules about each other.
func replayOf(request Request) (*replay, error) {
	rules := rulesOf(request.Gang.Pending, request.View.Resources())
	if !rules.any {
		return nil, nil
	}
	assumed, err := kubeframework.NewAssumed(request.View.Resources())
	if err != nil {
		return nil, err
	}
	budget := cmp.Or(request.Budget, packing.DefaultBudget)
	r := &replay{request: request, rules: rules, assumed: assumed, budget: budget}
	r.apart, err = r.apartBy(request.Gang.Pending)
	return r, err
}

// replay is one decision by rules.
type replay struct {
	request Request
	rules   rules
	apart   apart
	assumed *kubeframework.Assumed
	// lenient has the engine use nodes too that are closed to a pod at first, if others of its gang may open them.
	lenient bool
	// excludedDomains are the domains in which the replay failed.
	excludedDomains []excludedDomain
	// kinds names, for each pod, its kind: pods that filters cannot tell apart. Pods of a kind share what the filters
	// prepared, as long as no pod is assumed.
	kinds       map[string]string
	prefiltered map[string]*prefiltered
	// opened is set if a pod that was put on a node may have opened one to a pod that was turned away.
	opened bool
	// moves are the nodes to which pods of a leaf may move from a node.
	moves map[string][]fwk.NodeInfo
	// steps is what of the budget is spent: those of the engine, and one for each node that is tried for a pod which
	// has to move.
	steps, budget int
	// last is the refusal that ended the latest attempt.
	last *refusal
}

// attempts asks the engine and simulates its plan, and closes the domain where that fails, until it works. The answer
// is nil if there are plans, but none that works; and what the engine says if it has no plan from the start. Only what
// it says from the start, of the last way to read the rules, is proved: the others are not reported.
func (r *replay) attempts(ctx context.Context) (answer *Answer, placed bool, err error) {
	for attempt := range maxPlans {
		if attempt > 0 && r.spent() {
			break
		}
		if err := r.prepare(ctx); err != nil {
			return nil, false, err
		}
		var failed error
		request := r.asked(ctx, &failed)
		request.Unproved = request.Unproved || attempt > 0 || r.rules.liftable && !r.lenient
		session, err := open(ctx, request, zoning{least: true})
		if err != nil {
			return nil, false, cmp.Or(failed, err)
		}
		plan, err := session.Decide()
		session.Close()
		if err = cmp.Or(failed, err); err != nil {
			return nil, false, err
		}
		r.steps += plan.Steps
		if plan.Verdict != scheduling.ReasonPlaced {
			if attempt == 0 {
				return plan, false, nil
			}
			return nil, false, nil
		}
		result, err := r.assumeAll(ctx, plan.Nodes)
		if err != nil {
			return nil, false, err
		}
		if result.refused == nil || r.satisfied(result) {
			answer, err := r.placed(plan, result)
			return answer, true, err
		}
		r.last = result.refused
		if !r.excludeDomainOf(result) {
			break
		}
	}
	return nil, false, nil
}

// spent reports whether nothing is left of the budget. To put the pods where they were planned costs nothing of it.
func (r *replay) spent() bool { return r.steps >= r.budget }

// prepare forgets all assumed pods but what other gangs' plans reserve.
func (r *replay) prepare(ctx context.Context) error {
	if err := r.assumed.ForgetAll(ctx); err != nil {
		return err
	}
	r.kinds, r.prefiltered, r.moves = map[string]string{}, map[string]*prefiltered{}, map[string][]fwk.NodeInfo{}
	for node, pods := range r.request.Reserved {
		for _, pod := range pods {
			if r.assumed.Node(node) == nil {
				continue
			}
			// Some stand for room alone, and one that was nominated may have a plan too: each enters under a name of
			// its own.
			entering := gang.On(node, pod)
			entering.UID = types.UID(fmt.Sprintf("reserved %d", r.assumed.Size()))
			if status := r.assumed.Assume(ctx, nil, entering); !status.IsSuccess() {
				return status.AsError()
			}
		}
	}
	return nil
}

// satisfied reports whether only pods above the minimum were turned away.
func (r *replay) satisfied(result *outcome) bool {
	return r.request.Gang.Satisfied(func(pod *corev1.Pod) bool { return result.nodes[pod.Name] != "" })
}

// placed is the answer with the nodes that the replay ended with.
func (r *replay) placed(plan *Answer, result *outcome) (*Answer, error) {
	groups, err := standing(r.request, result.nodes)
	if err != nil {
		return nil, err
	}
	answer := &Answer{
		Verdict: scheduling.ReasonPlaced, Message: plan.Message, Nodes: result.nodes,
		Groups: groups, Steps: r.steps,
	}
	if result.refused != nil {
		answer.Message = result.refused.sentence()
	}
	if r.rules.liftable {
		answer.Order = result.order
	}
	return answer, nil
}

// refused is the answer for a gang that would fit, were it not for the rules among its pods.
func (r *replay) refused() *Answer {
	hold := &gang.Hold{
		Reason:  scheduling.ReasonUnknown,
		Message: "no placement was found that keeps the rules among the gang's own pods",
	}
	if r.last != nil {
		hold.Message += ": " + r.last.sentence()
	}
	answer := Held(r.request.Gang, hold)
	answer.Steps = r.steps
	return answer
}
