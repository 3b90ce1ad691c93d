package apply

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/undeclared"
)

// Status writes the status of an object if after differs from before, and reports whether it did. Before and after are
// pointers to the kind's status type; the fields that after sets become the field owner's, and fields of others stay.
// An object that is gone is left alone; another object of its name causes a conflict. Fields that the cluster's older
// CRD does not declare are left out.
func (w Writer) Status(ctx context.Context, object client.Object, before, after any) (bool, error) {
	return w.status(ctx, object, before, after, "")
}

// StatusOfSeen is Status for a decision about the object as it was seen: if the object has changed since, that is a
// conflict.
func (w Writer) StatusOfSeen(ctx context.Context, object client.Object, before, after any) (bool, error) {
	return w.status(ctx, object, before, after, object.GetResourceVersion())
}

func (w Writer) status(
	ctx context.Context, object client.Object, before, after any, resourceVersion string,
) (bool, error) {
	if apiequality.Semantic.DeepEqual(before, after) {
		return false, nil
	}
	err := w.applyStatus(ctx, object, after, resourceVersion)
	if client.IgnoreNotFound(err) != nil {
		return false, w.failed(WritingStatus, object, err)
	}
	return err == nil, nil
}

func (w Writer) applyStatus(ctx context.Context, object client.Object, status any, resourceVersion string) error {
	kind, err := w.Client.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("converting %T: %w", status, err)
	}
	for {
		wanted := &unstructured.Unstructured{Object: map[string]any{"status": runtime.DeepCopyJSON(fields)}}
		wanted.SetGroupVersionKind(kind)
		wanted.SetNamespace(object.GetNamespace())
		wanted.SetName(object.GetName())
		wanted.SetUID(object.GetUID())
		wanted.SetResourceVersion(resourceVersion)
		err := w.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), w.FieldOwner,
			client.ForceOwnership)
		if undeclared.Remove(fields, err) {
			continue
		}
		if err != nil {
			return err
		}
		// The answer shows whether an older version of the program has updated the status. Its fields are then taken
		// over and applied once more. A crash in between does no harm: the leftover fields make the next status differ.
		taken, err := w.takeOver(ctx, wanted, "status")
		if !taken || err != nil {
			return err
		}
		resourceVersion = wanted.GetResourceVersion()
	}
}
