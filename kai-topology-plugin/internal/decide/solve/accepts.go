package solve

import (
	"context"
	"errors"
)

// Relaxed calls use with a request that has only the rules that always hold: rules among the gang's pods that placing a
// pod may lift are left out. What the relaxed request refuses cannot be placed. The request is valid during the call.
func Relaxed(ctx context.Context, request Request, use func(Request) error) (err error) {
	r, err := replayOf(request)
	if err != nil {
		return err
	}
	if r == nil {
		return use(request)
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
// one pod enters after the other, as long as any is let in. It says which is turned away; "" if none is.
func Accepts(ctx context.Context, request Request, nodes map[string]string) (refused string, err error) {
	r, err := replayOf(request)
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
func (r *replay) tellApart(ctx context.Context) error {
	var failed error
	session, err := Open(ctx, r.asked(ctx, &failed))
	if err != nil {
		return err
	}
	session.Close()
	return failed
}
