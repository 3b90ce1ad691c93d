// Package apply writes whole desired objects by server-side apply, and nothing at all where the cluster has them already.
package apply

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/manifests"
)

// FieldOwner is the operator's name in managed fields.
const FieldOwner = client.FieldOwner("grove-operator")

// AnnotationFields is the annotation that has a hash of the names of the fields that the operator applied last. A field that it no longer wants
// shows there, and nowhere else.
const AnnotationFields = "packtree.dev/applied-fields"

// Writer writes objects.
type Writer struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads past the cache. Of the kinds that everybody uses, the cache has nothing but the operator's own objects,
	// where others may have the name.
	Live client.Reader
}

// Apply makes the cluster's object what desired says. Live is the object as the cache has it, nil if it is not there. What
// belongs to somebody else is an error; what is being deleted is left alone. If desired carries a resourceVersion, an
// object that has changed since is a conflict. Afterwards desired has the generation that the cluster's object has.
func (w Writer) Apply(ctx context.Context, desired, live client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return fmt.Errorf("converting %T: %w", desired, err)
	}
	delete(manifests.WithoutUnset(fields), "status")
	wanted := &unstructured.Unstructured{Object: fields}
	annotate(wanted)
	write := w.applyNew
	if live != nil {
		if err := checkOwner(wanted, live); err != nil {
			return err
		}
		if live.GetDeletionTimestamp() != nil || same(wanted, live) {
			desired.SetGeneration(live.GetGeneration())
			return nil
		}
		write = w.applyChanged
	}
	if err := write(ctx, wanted); err != nil {
		return err
	}
	desired.SetGeneration(wanted.GetGeneration())
	return nil
}

// applyNew writes an object that the cache does not have.
func (w Writer) applyNew(ctx context.Context, wanted *unstructured.Unstructured) error {
	if !whollyCached(wanted) {
		return w.create(ctx, wanted)
	}
	if err := w.checkNameFree(ctx, wanted); err != nil {
		return err
	}
	// Another's object that the cache does not have yet is a conflict and not taken over.
	return w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), FieldOwner)
}

// applyChanged writes an object that is the operator's.
func (w Writer) applyChanged(ctx context.Context, wanted *unstructured.Unstructured) error {
	if !whollyCached(wanted) {
		if err := w.adopt(ctx, wanted); err != nil {
			return err
		}
	}
	return w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), FieldOwner, client.ForceOwnership)
}

// whollyCached tells whether the cache has all objects of a kind, whoever made them.
func whollyCached(object client.Object) bool {
	group := object.GetObjectKind().GroupVersionKind().Group
	return group == grovev1alpha1.GroupName || group == schedulerv1alpha1.GroupName
}

func annotate(wanted *unstructured.Unstructured) {
	hash := fnv.New64a()
	for _, path := range fieldPaths("", wanted.Object) {
		hash.Write([]byte(path + "\n"))
	}
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationFields] = strconv.FormatUint(hash.Sum64(), 36)
	wanted.SetAnnotations(annotations)
}

// fieldPaths returns the path of every leaf, sorted. The resourceVersion is a condition of the write and not part of it.
func fieldPaths(prefix string, value any) []string {
	var paths []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if prefix != ".metadata" || key != "resourceVersion" {
				paths = append(paths, fieldPaths(prefix+"."+key, inner)...)
			}
		}
	case []any:
		for i, inner := range value {
			paths = append(paths, fieldPaths(prefix+"["+strconv.Itoa(i)+"]", inner)...)
		}
	default:
		return []string{prefix}
	}
	slices.Sort(paths)
	return append(paths, prefix)
}

// checkNameFree looks whether an object that the caller did not find among its own exists all the same.
func (w Writer) checkNameFree(ctx context.Context, wanted *unstructured.Unstructured) error {
	found, reader, err := w.stranger(wanted.GroupVersionKind())
	if err != nil {
		return err
	}
	err = reader.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return checkOwner(wanted, found)
}

// stranger returns an empty object of a kind, and who can tell of all objects of that kind.
func (w Writer) stranger(kind schema.GroupVersionKind) (client.Object, client.Reader, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	if !whollyCached(metadata) {
		return metadata, w.Live, nil
	}
	typed, err := w.Client.Scheme().New(kind) // Metadata alone would have a cache of its own.
	if err != nil {
		return nil, nil, fmt.Errorf("looking for a %s: %w", kind.Kind, err)
	}
	return typed.(client.Object), w.Client, nil
}

func checkOwner(wanted, found client.Object) error {
	want, has := metav1.GetControllerOf(wanted), metav1.GetControllerOf(found)
	if want == nil || (has != nil && has.UID == want.UID) {
		return nil
	}
	holder := "no controller"
	if has != nil {
		holder = fmt.Sprintf("%s %s", has.Kind, has.Name)
	}
	return ForeignError{
		Kind: wanted.GetObjectKind().GroupVersionKind().Kind, Name: wanted.GetName(),
		Owner: fmt.Sprintf("%s %s", want.Kind, want.Name), Holder: holder,
	}
}

// ForeignError tells that a name is taken by an object of somebody else.
type ForeignError struct {
	// Kind and Name are those of the object, Owner is whose it was to be, Holder whose it is.
	Kind, Name, Owner, Holder string
}

// Error says what to do.
func (e ForeignError) Error() string {
	return fmt.Sprintf("%s %s exists and belongs to %s, not to %s; remove or rename it", e.Kind, e.Name, e.Holder, e.Owner)
}

// same tells whether live has every field that is wanted, with its value, and whether the wanted fields are the ones that
// were applied last.
func same(wanted *unstructured.Unstructured, live client.Object) bool {
	if live.GetAnnotations()[AnnotationFields] != wanted.GetAnnotations()[AnnotationFields] {
		return false
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false
	}
	for key, value := range wanted.Object {
		if key != "apiVersion" && key != "kind" && !contains(fields[key], value, key == "metadata") {
			return false // Typed objects of the cache carry no apiVersion and kind.
		}
	}
	return true
}

// contains tells whether live has everything of wanted. Lists are compared position by position, but for those of the
// metadata, to which others add.
func contains(live, wanted any, metadata bool) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		liveMap, ok := live.(map[string]any)
		if !ok {
			return len(wanted) == 0 && live == nil
		}
		for key, value := range wanted {
			if !contains(liveMap[key], value, metadata) {
				return false
			}
		}
		return true
	case []any:
		liveList, ok := live.([]any)
		switch {
		case !ok:
			return len(wanted) == 0 && live == nil
		case metadata:
			return containsAll(liveList, wanted)
		default:
			return slices.EqualFunc(liveList, wanted, func(l, w any) bool { return contains(l, w, false) })
		}
	default:
		return live == wanted
	}
}

func containsAll(live, wanted []any) bool {
	for _, element := range wanted {
		if !slices.ContainsFunc(live, func(l any) bool { return contains(l, element, true) }) {
			return false
		}
	}
	return true
}

// IgnoreGone drops the error about an object that is gone: the event of its deletion brings another look. A conflict is
// kept, for where a cache lags there may be no event to come; see package conflicts.
func IgnoreGone(err error) error {
	return client.IgnoreNotFound(err)
}

// Delete removes an object, unless it is being deleted or has been replaced by another of its name.
func (w Writer) Delete(ctx context.Context, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := object.GetUID()
	err := w.Client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err = IgnoreGone(err); err != nil {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// ApplyStatus writes an object's status, of which the operator owns what it sets: a pointer to the kind's status type. An
// object that is gone, or another of its name, is left alone.
func (w Writer) ApplyStatus(ctx context.Context, object client.Object, status any) error {
	return IgnoreGone(w.applyStatus(ctx, object, "", status))
}

// ApplyStatusUnchanged writes an object's status unless the object has changed since it was read, which is a conflict.
func (w Writer) ApplyStatusUnchanged(ctx context.Context, object client.Object, status any) error {
	err := w.applyStatus(ctx, object, object.GetResourceVersion(), status)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w Writer) applyStatus(ctx context.Context, object client.Object, resourceVersion string, status any) error {
	kind, err := w.Client.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("converting status: %w", err)
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	wanted.SetGroupVersionKind(kind)
	wanted.SetNamespace(object.GetNamespace())
	wanted.SetName(object.GetName())
	wanted.SetUID(object.GetUID())
	if resourceVersion != "" {
		wanted.SetResourceVersion(resourceVersion)
	}
	err = w.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), FieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing status of %s %s: %w", kind.Kind, object.GetName(), err)
	}
	return nil
}
