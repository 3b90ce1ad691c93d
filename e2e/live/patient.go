package live

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// undone are messages about requests that have certainly changed nothing: no operator was there for a webhook, or none
// was fast enough on a busy machine.
var undone = []string{
	"failed calling webhook", "conversion webhook for",
	"no PriorityClass with name", // The API server hears of those later than of pods that were made after them.
}

// silences are messages of kubectl, the client and the API server about requests without an answer: requests that
// were not done, and requests that may have been.
var silences = append([]string{
	"request did not complete within requested timeout", "context deadline exceeded", "Client.Timeout exceeded",
	"stream error", // The API server ends a request after a minute, such as one that deletes thousands of objects.
}, undone...)

// Unanswered reports whether a command may be repeated after this output, as a user would.
func Unanswered(said string) bool { return says(said, silences) }

func says(said string, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return strings.Contains(said, one) })
}

// repetition is how often a request without an answer is repeated.
const repetition = time.Second

// patient is a client that repeats requests without an answer for some minutes, as a user would.
// What may have been done is repeated only if that changes nothing: a creation, an update or a patch is not.
// Nor is anything about subresources.
type patient struct{ client.Client }

func (p patient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return repeat(ctx, silences, func(bool) error { return p.Client.Get(ctx, key, into, options...) })
}

func (p patient) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return repeat(ctx, silences, func(bool) error { return p.Client.List(ctx, into, options...) })
}

func (p patient) Apply(
	ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption,
) error {
	return repeat(ctx, silences, func(bool) error { return p.Client.Apply(ctx, object, options...) })
}

func (p patient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return repeat(ctx, silences, func(again bool) error {
		err := p.Client.Delete(ctx, object, options...)
		if again && apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func (p patient) DeleteAllOf(ctx context.Context, kind client.Object, options ...client.DeleteAllOfOption) error {
	return repeat(ctx, silences, func(bool) error { return p.Client.DeleteAllOf(ctx, kind, options...) })
}

func (p patient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return repeat(ctx, undone, func(bool) error { return p.Client.Create(ctx, object, options...) })
}

func (p patient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return repeat(ctx, undone, func(bool) error { return p.Client.Update(ctx, object, options...) })
}

func (p patient) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption,
) error {
	return repeat(ctx, undone, func(bool) error { return p.Client.Patch(ctx, object, patch, options...) })
}

// repeat sends a request until its error says none of some messages, and returns that.
func repeat(ctx context.Context, some []string, send func(again bool) error) (err error) {
	again := false
	ended := wait.PollUntilContextTimeout(ctx, repetition, patience, true, func(context.Context) (bool, error) {
		err = send(again)
		again = true
		return err == nil || !says(err.Error(), some), nil
	})
	if err != nil {
		return err
	}
	return ended
}
