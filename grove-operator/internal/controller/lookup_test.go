package controller_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/grove-operator/internal/lookup"
)

// failing is a reader without objects. Its reads of some names fail.
type failing struct {
	client.Reader
	names map[string]error
}

func (f failing) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if err := f.names[key.Name]; err != nil {
		return err
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "clustertopologies"}, key.Name)
}

func TestAFailedLookupIsNotForgottenByTheNextOne(t *testing.T) {
	away := errors.New("the API server is away")
	topologies := lookup.TopologiesIn(t.Context(), failing{names: map[string]error{"before": away}})
	if topologies.Find("before") != nil || topologies.Find("after") != nil {
		t.Error("found a topology that nobody has")
	}
	if err := topologies.Err(); !errors.Is(err, away) {
		t.Errorf("error %v, want that of the first lookup: a set would be judged as if its topology did not exist",
			err)
	}
}
