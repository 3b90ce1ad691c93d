package endure

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// action is what an act does to one target, at most one at a time, and how it is undone. Both are repeated until the
// API server has decided.
type action struct {
	// counted is its line in the report.
	counted, target string
	do, undo        func(context.Context) error
}

// act is something that happens again and again.
type act struct {
	// weight is how often it happens in each 70 seconds.
	weight int
	choose func(c *Campaign, random *rand.Rand) action
}

// weights are those of all acts at a rate of faults, with the mean time between two acts.
func weights(rate int) (all map[string]int, pace time.Duration) {
	all, sum := map[string]int{}, 0
	for name, act := range churn {
		all[name] = act.weight
	}
	for name, act := range faults {
		all[name] = act.weight * rate
	}
	for _, weight := range all {
		sum += weight
	}
	return all, 70 * time.Second / time.Duration(sum)
}

// patience is how long an act is tried.
const patience = 5 * time.Minute

// perform does an act, and undoes it after its time, however the campaign ends.
func (c *Campaign) perform(ctx context.Context, act Act) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
	defer cancel()
	named, fault := faults[act.Name]
	if !fault {
		named = churn[act.Name]
	}
	chosen := named.choose(c, rand.New(rand.NewPCG(act.Pick, 0)))
	if chosen.do == nil || !c.alone(chosen.target) {
		return nil
	}
	defer c.free(chosen.target)
	c.count(chosen.counted)
	c.say("%s: %s", act.Name, chosen.target)
	err := insist(ctx, chosen.do)
	if chosen.undo != nil {
		pause(ctx, act.For)
		err = errors.Join(err, insist(ctx, chosen.undo))
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func one[T any](of []T, random *rand.Rand) T { return of[random.IntN(len(of))] }

func (c *Campaign) creates(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Create(ctx, object.DeepCopyObject().(client.Object)) }
}

func (c *Campaign) deletes(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Delete(ctx, object.DeepCopyObject().(client.Object)) }
}

// alone reserves a target for a action, and returns false if another one has it.
func (c *Campaign) alone(target string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.busy[target]
	c.busy[target] = true
	return !was
}

func (c *Campaign) free(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, target)
}

// insist repeats a request until the API server has decided about it: it may be away, or a webhook.
func insist(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := send(ctx)
		if err == nil || slices.Contains(decided, apierrors.ReasonForError(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// decided are the reasons of refusals.
var decided = []metav1.StatusReason{metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest}

// pause waits for a time, or until there is nothing more to wait for.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
