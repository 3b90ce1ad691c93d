package managerstart_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"packtree.dev/shared/managerstart"
)

// refusing is a manager and its indexer, which returns its errors one after the other.
type refusing struct {
	manager.Manager
	errors []error
}

func (r *refusing) GetFieldIndexer() client.FieldIndexer { return r }

func (r *refusing) IndexField(context.Context, client.Object, string, client.IndexerFunc) (err error) {
	if len(r.errors) > 0 {
		err, r.errors = r.errors[0], r.errors[1:]
	}
	return err
}

func TestAnIndexIsAddedAgainUnlessItsKindIsMissing(t *testing.T) {
	away, missing := errors.New("the API server is away"), &meta.NoKindMatchError{}
	mgr := &refusing{errors: []error{away, away}}
	require.NoError(t, managerstart.Indexer(mgr).IndexField(t.Context(), nil, "", nil))
	mgr.errors = []error{missing, away}
	require.ErrorIs(t, managerstart.Indexer(mgr).IndexField(t.Context(), nil, "", nil), missing)
}
