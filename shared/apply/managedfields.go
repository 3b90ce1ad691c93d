package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// takeOver makes the field owner's fields of an object or a subresource that come from a creation or an update its own
// by server-side apply, and reports whether there were any. Otherwise server-side apply does not remove them when they
// are no longer wanted. Object has the managed fields as they are in the cluster.
func (w Writer) takeOver(ctx context.Context, object client.Object, subresource string) (bool, error) {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(object, sets.New(string(w.FieldOwner)), string(w.FieldOwner),
		csaupgrade.Subresource(subresource))
	if err != nil {
		return false, fmt.Errorf("reading managed fields: %w", err)
	}
	if patch == nil {
		return false, nil
	}
	return true, w.Client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch), w.FieldOwner)
}
