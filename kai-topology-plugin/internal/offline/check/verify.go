package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// verifier goes through an answer.
type verifier struct {
	cluster *inventory.Inventory
	table   *turns.Table
	nodes   map[string]*corev1.Node
	members map[gang.Key][]*corev1.Pod
	// waiting are the gangs of the input that the answer has not mentioned yet, placed the gangs with a verified
	// placement.
	waiting, placed map[gang.Key]turns.Turn
	// expected are pods that placed gangs will have.
	expected []*corev1.Pod
	faults   []string
}

// verify lists what does not hold of an answer, a line each, in its order. The pods of the cluster are changed.
func verify(ctx context.Context, cluster *inventory.Inventory, given []podGroup) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	v := &verifier{
		cluster: cluster, table: table.KeepingRoom(), nodes: map[string]*corev1.Node{}, members: cluster.Members(),
		waiting: map[gang.Key]turns.Turn{}, placed: map[gang.Key]turns.Turn{},
	}
	for _, node := range cluster.Nodes {
		v.nodes[node.Name] = node
	}
	order := turns.In(cluster)
	for _, turn := range order {
		v.waiting[turn.Rank.Gang] = turn
	}
	for i := range given {
		if err := v.podGroup(ctx, &given[i]); err != nil {
			return nil, fmt.Errorf("PodGroup %s: %w", given[i].key(), err)
		}
	}
	for _, turn := range order {
		if _, missing := v.waiting[turn.Rank.Gang]; missing {
			v.fault(turn.Rank.Gang, "the answer says nothing about it")
		}
	}
	return v.faults, nil
}

func (v *verifier) fault(key gang.Key, format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf("PodGroup %s: ", key)+fmt.Sprintf(format, args...))
}

func (v *verifier) podGroup(ctx context.Context, given *podGroup) error {
	key := given.key()
	turn, waits := v.waiting[key]
	switch {
	case !v.cluster.Has(key):
		v.fault(key, "the input has no such PodGroup")
		return nil
	case !waits:
		v.fault(key, "the answer has it twice")
		return nil
	}
	before := len(v.faults)
	if err := errors.Join(v.verdict(given, turn), v.claim(ctx, given, turn)); err != nil {
		return err
	}
	v.subGroups(given, turn)
	delete(v.waiting, key)
	if len(v.faults) > before {
		return nil
	}
	if given.Verdict == scheduling.ReasonPlaced {
		v.placed[key], v.expected = turn, append(v.expected, turn.Gang.Coming()...)
	}
	return v.table.Assume(turn.Gang.Pending, given.Assignments)
}

var verdicts = []string{
	scheduling.ReasonPlaced, scheduling.ReasonInfeasible, scheduling.ReasonUnknown, scheduling.ReasonIncomplete,
	scheduling.ReasonInvalid,
}

// verdict compares the verdict with what the PodGroup, its pods and the names of the nodes say.
func (v *verifier) verdict(given *podGroup, turn turns.Turn) error {
	key, due := given.key(), ""
	hold, err := v.held(turn)
	if err != nil {
		return err
	}
	if hold != nil {
		due = hold.Reason
	}
	switch {
	case !slices.Contains(verdicts, given.Verdict):
		v.fault(key, "there is no verdict %q", given.Verdict)
	case due != "" && due != given.Verdict:
		v.fault(key, "it is said to be %s, but is %s: %s", given.Verdict, due, hold.Message)
	case due == "" && given.Verdict == scheduling.ReasonIncomplete:
		v.fault(key, complete, given.Verdict)
	}
	if reason := given.Reason; reason != given.Verdict && (reason != "" || given.Verdict != scheduling.ReasonPlaced) {
		v.fault(key, "the reason %q is not that of the verdict %s", reason, given.Verdict)
	}
	if given.Verdict != scheduling.ReasonPlaced && len(given.Assignments) > 0 && !turn.Gang.Mends() {
		v.fault(key, "it is said to be %s, and has pods assigned", given.Verdict)
	}
	if given.Verdict != scheduling.ReasonInfeasible && given.certified() {
		v.fault(key, "it is said to be %s, and has a certificate that no placement exists", given.Verdict)
	}
	return nil
}

// held is why a PodGroup cannot be decided; nil if it can.
func (v *verifier) held(turn turns.Turn) (*gang.Hold, error) {
	if turn.Hold != nil {
		return turn.Hold, nil
	}
	request, err := v.table.Request(turn)
	if err != nil {
		return nil, err
	}
	return request.Held(), nil
}

// complete is the fault of a verdict that a PodGroup and its pods do not give.
const complete = "it is said to be %s, but has all that a decision needs"

// claim verifies a placement, or that there is none, or that what is asked for cannot be counted.
func (v *verifier) claim(ctx context.Context, given *podGroup, turn turns.Turn) error {
	var faults []error
	var err error
	placed := given.Verdict == scheduling.ReasonPlaced
	mends := turn.Gang.Mends() && !v.table.Held(turn) && (!placed || turn.Gang.Satisfied(gang.NoPending))
	if mends {
		mended := turn
		mended.Gang = turn.Gang.Mending()
		faults, err := v.placement(ctx, mended, given.Assignments)
		if err != nil {
			return err
		}
		v.faulty(given.key(), faults)
	}
	switch {
	case turn.Hold != nil, placed && mends:
	case placed:
		faults, err = v.placement(ctx, turn, given.Assignments)
	case given.Verdict == scheduling.ReasonInfeasible && !given.certified():
		v.fault(given.key(),
			"it is said to be Infeasible without a certificate, so nothing proves it: place --certificate adds one")
	case given.Verdict == scheduling.ReasonInfeasible:
		faults, err = v.certificate(ctx, given, turn)
	case given.Verdict == scheduling.ReasonInvalid:
		faults, err = v.invalid(ctx, turn)
	}
	v.faulty(given.key(), faults)
	return err
}

// invalid reports a fault unless a pod asks for more than can be counted.
func (v *verifier) invalid(ctx context.Context, turn turns.Turn) (faults []error, err error) {
	request, err := v.table.Request(turn)
	if err != nil {
		return nil, err
	}
	faults = []error{fmt.Errorf(complete, scheduling.ReasonInvalid)}
	err = asInput(ctx, request, func(input *certificate.Input) {
		for _, kind := range input.Kinds {
			for _, amount := range kind.Requests {
				if amount > packing.MaxAmount {
					faults = nil
				}
			}
		}
	})
	return faults, err
}

func (v *verifier) faulty(key gang.Key, faults []error) {
	for _, fault := range faults {
		v.fault(key, "%v", fault)
	}
}

// placement lists what is wrong with the nodes of the pods of a turn.
func (v *verifier) placement(ctx context.Context, turn turns.Turn, nodes map[string]string) ([]error, error) {
	request, err := v.table.Request(turn)
	if err != nil {
		return nil, err
	}
	return Placement(ctx, request, nodes)
}

// Placement lists what is wrong with the nodes of a gang's pods, by the names of the pods.
func Placement(ctx context.Context, request solve.Request, nodes map[string]string) (faults []error, err error) {
	err = solve.Relaxed(ctx, request, func(relaxed solve.Request) error {
		session, given, wrong, err := solve.OpenPlaced(ctx, relaxed, nodes)
		if err != nil {
			return err
		}
		defer session.Close()
		input, err := inputOf(session, relaxed)
		if err != nil {
			return err
		}
		faults = append(certificate.Check(input, given), wrong...)
		return session.Trial.Err()
	})
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	refused, err := solve.Accepts(ctx, request, nodes)
	if refused != "" {
		faults = append(faults, errors.New(refused))
	}
	return faults, err
}

// certificate verifies a certificate.
func (v *verifier) certificate(ctx context.Context, given *podGroup, turn turns.Turn) (faults []error, err error) {
	kept, proof, err := given.proof()
	var reserved clusterview.Reserved
	if err == nil {
		reserved, err = v.reserved(ctx, turn, kept)
	}
	if err != nil {
		return []error{fmt.Errorf("its certificate: %w", err)}, nil
	}
	request, err := v.table.Request(turn)
	if err != nil {
		return nil, err
	}
	request.Reserved = v.table.SeatsFrom(turn.Rank)
	if request.Reserved == nil {
		request.Reserved = clusterview.Reserved{}
	}
	for node, pods := range reserved {
		request.Reserved[node] = append(request.Reserved[node], pods...)
	}
	return proves(ctx, request, proof)
}

// proves lists what is wrong with a certificate that the gang of a request does not fit.
func proves(ctx context.Context, request solve.Request, proof *certificate.Proof) (faults []error, err error) {
	err = asInput(ctx, request, func(input *certificate.Input) {
		if wrong := certificate.Verify(input, proof); wrong != nil {
			faults = append(faults, fmt.Errorf("its certificate: %w", wrong))
		}
	})
	return faults, err
}

// asInput hands over a request in the words of package certificate.
func asInput(ctx context.Context, request solve.Request, use func(*certificate.Input)) error {
	return solve.Relaxed(ctx, request, func(relaxed solve.Request) error {
		session, err := solve.Open(ctx, relaxed)
		if err != nil {
			return err
		}
		defer session.Close()
		input, err := inputOf(session, relaxed)
		if err != nil {
			return err
		}
		use(input)
		return session.Trial.Err()
	})
}
