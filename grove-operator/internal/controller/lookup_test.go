package controller_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
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
	assert.Nil(t, topologies.Find("before"), "found a topology that nobody has")
	assert.Nil(t, topologies.Find("after"), "found a topology that nobody has")
	assert.ErrorIs(t, topologies.Err(), away)
}
