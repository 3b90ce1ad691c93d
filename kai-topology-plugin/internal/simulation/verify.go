package simulation

import (
	"context"
	"errors"

	"packtree.dev/kai-topology-plugin/internal/decision"
)

// Relaxed hands over the question that stands for this one where nothing but what holds anyway is to count: of the
// rules that the gang's pods have about each other, those that pods which have got their nodes may end are left out.
// Who cannot be placed by it cannot be placed. The question lasts as long as the call.
func Relaxed(ctx context.Context, question decision.Question, use func(decision.Question) error) (err error) {
	r, err := open(question)
	if err != nil {
		return err
	}
	if r == nil {
		return use(question)
	}
	defer func() { err = errors.Join(err, r.assumed.ForgetAll(ctx)) }()
	r.lenient = r.rules.liftable
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var failed error
	err = use(r.asked(ctx, &failed))
	return errors.Join(err, failed)
}

// Accepts plays a finished placement through with the profile's own filters, if the pods have rules about each other:
// one pod enters after the other, as long as any is let in. It says who is turned away; nobody, if that is empty.
func Accepts(ctx context.Context, question decision.Question, nodes map[string]string) (refused string, err error) {
	r, err := open(question)
	if err != nil || r == nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.assumed.ForgetAll(ctx)) }()
	if err := r.prepare(ctx); err != nil {
		return "", err
	}
	if err := r.tellApart(ctx); err != nil {
		return "", err
	}
	result := &outcome{nodes: map[string]string{}, waiting: r.planned(nodes)}
	for entered := true; entered && len(result.waiting) > 0; {
		if entered, err = r.assumeAsPlanned(ctx, result, nodes); err != nil {
			return "", err
		}
	}
	if result.refused == nil {
		return "", nil
	}
	return result.refused.sentence(), nil
}

// tellApart finds out which pods filters cannot tell apart, as the engine is asked for them.
func (r *simulation) tellApart(ctx context.Context) error {
	var failed error
	session, err := decision.Open(ctx, r.asked(ctx, &failed))
	if err != nil {
		return err
	}
	session.Close()
	return failed
}
