package simulation

import (
	"context"
	"errors"

	"packtree.dev/kai-topology-plugin/internal/decision"
)

// Relaxed hands over the question that stands for this one where nothing but what holds anyway is to count: of the rules that
// the gang's pods have about each other, those that pods which have got their nodes may end are left out. Who cannot be placed by
// it cannot be placed. The question lasts as long as the call.
func Relaxed(ctx context.Context, question decision.Question, use func(decision.Question) error) (err error) {
	r, err := open(question)
	if err != nil {
		return err
	}
	if r == nil {
		return use(question)
	}
	defer func() { err = errors.Join(err, r.stage.Clear(ctx)) }()
	r.lenient = r.rules.liftable
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var failed error
	err = use(r.asked(ctx, &failed))
	return errors.Join(err, failed)
}

// Accepts plays a finished placement through with the profile's own filters, if the pods have rules about each other: one pod
// enters after the other, as long as any is let in. It says who is turned away; nobody, if that is empty.
func Accepts(ctx context.Context, question decision.Question, nodes map[string]string) (refused string, err error) {
	r, err := open(question)
	if err != nil || r == nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.stage.Clear(ctx)) }()
	if err := r.prepare(ctx); err != nil {
		return "", err
	}
	acted := &performance{nodes: map[string]string{}, waiting: r.planned(nodes)}
	for entered := true; entered && len(acted.waiting) > 0; {
		if entered, err = r.enterAsPlanned(ctx, acted, nodes); err != nil {
			return "", err
		}
	}
	if acted.refused == nil {
		return "", nil
	}
	return acted.refused.sentence(), nil
}
