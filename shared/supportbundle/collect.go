package supportbundle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	dynamo "packtree.dev/shared/api/dynamo/v1alpha1"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
)

// viewerRole is the ClusterRole of the scheduler's chart that allows to list every kind of a bundle.
const viewerRole = "packtree-viewer"

// pageSize is how many objects are listed at once: 20,000 pods in one answer would block the API server.
const pageSize = 500

// zonesVersion is that of NodeResourceTopologies.
var zonesVersion = schema.GroupVersion{Group: "topology.node.k8s.io", Version: "v1alpha2"}

// kind is one of the kinds in a bundle.
type kind struct {
	resource schema.GroupVersionResource
	// selector leaves out objects by their fields.
	selector string
	// needed kinds are indispensable: without them there is no bundle.
	needed bool
	// foreign kinds are not Packtree's: a cluster that does not serve them lacks nothing.
	foreign bool
	// reduce returns the part of an object that goes into a bundle; nil if the object is left out.
	reduce func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// kinds are the kinds that the offline commands of the scheduler read, in the order of a bundle.
var kinds = []kind{
	{resource: kai.GroupVersion.WithResource("topologies"), reduce: of(reduceTopology)},
	{resource: corev1.SchemeGroupVersion.WithResource("nodes"), needed: true, reduce: of(reduceNode)},
	{resource: zonesVersion.WithResource("noderesourcetopologies"), foreign: true, reduce: of(reduceZones)},
	{resource: dynamo.GroupVersion.WithResource("dynamographdeployments"), reduce: of(reduceWorkload)},
	{resource: grove.GroupVersion.WithResource("podcliquesets"), reduce: of(reduceWorkload)},
	{resource: grovescheduler.GroupVersion.WithResource("podgangs"), reduce: of(reduceWorkload)},
	{resource: scheduling.GroupVersion.WithResource("podgroups"), reduce: of(reducePodGroup)},
	{resource: corev1.SchemeGroupVersion.WithResource("pods"), selector: "status.phase!=Succeeded,status.phase!=Failed",
		needed: true, reduce: of(reducePod)},
	{resource: corev1.SchemeGroupVersion.WithResource("events"), reduce: of(reduceEvent)},
}

// of converts the reduction of a type to one of unstructured objects.
func of[T any](reduce func(*T) *T) func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return func(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		whole := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, whole); err != nil {
			return nil, err
		}
		kept := reduce(whole)
		if kept == nil {
			return nil, nil
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(kept)
		if err != nil {
			return nil, err
		}
		return &unstructured.Unstructured{Object: manifests.WithoutUnset(fields)}, nil
	}
}

// bundle has the collected objects.
type bundle struct {
	objects []runtime.Object
	// notes say what is missing in the bundle, and what that means.
	notes []string
}

// collect lists every kind of a bundle. Nodes and pods must be readable; for other kinds that are not, it adds a note.
func collect(ctx context.Context, client dynamic.Interface) (*bundle, error) {
	collected := &bundle{}
	for _, kind := range kinds {
		err := collected.add(ctx, client, kind)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case kind.needed && apierrors.IsForbidden(err):
			return nil, fmt.Errorf("listing %s of the whole cluster: %w; ask for ClusterRole %s",
				kind.resource.Resource, err, viewerRole)
		case kind.needed:
			return nil, fmt.Errorf("listing %s: %w", kind.resource.Resource, err)
		case apierrors.IsNotFound(err) && kind.foreign:
		case apierrors.IsNotFound(err):
			collected.note("the cluster serves no %s: is the CustomResourceDefinition installed?",
				kind.resource.GroupResource())
		case apierrors.IsForbidden(err):
			collected.note("%s are left out, since you may not list them: ClusterRole %s allows it",
				kind.resource.GroupResource(), viewerRole)
		default:
			collected.note("%s are left out, since they cannot be listed: %v", kind.resource.GroupResource(), err)
		}
	}
	return collected, nil
}

func (b *bundle) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// add lists one kind page by page and reduces each page at once.
func (b *bundle) add(ctx context.Context, client dynamic.Interface, kind kind) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(kind.resource).List(ctx, options)
	})
	pages.PageSize = pageSize
	var whole []runtime.Object
	options := metav1.ListOptions{FieldSelector: kind.selector}
	err := pages.EachListItem(ctx, options, func(listed runtime.Object) error {
		object, ok := listed.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the API server lists %T", listed)
		}
		var err error
		whole, err = kind.appendReduced(whole, object)
		return err
	})
	if err != nil {
		return err // A part of a kind would be mistaken for all of it.
	}
	b.objects = append(b.objects, whole...)
	return nil
}

// appendReduced appends the part of an object that goes into a bundle, if there is any.
func (k *kind) appendReduced(to []runtime.Object, object *unstructured.Unstructured) ([]runtime.Object, error) {
	reduced, err := k.reduce(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	if reduced != nil {
		to = append(to, reduced)
	}
	return to, nil
}

// collectFrom makes a bundle of a dump, of the same kinds in the same order, in any version.
func collectFrom(documents []manifests.Document) (*bundle, error) {
	collected := &bundle{}
	for i := range kinds {
		for _, document := range documents {
			plural, _ := meta.UnsafeGuessKindToResource(document.Object.GroupVersionKind())
			if plural.GroupResource() != kinds[i].resource.GroupResource() {
				continue
			}
			var err error
			if collected.objects, err = kinds[i].appendReduced(collected.objects, document.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", document.Source, err)
			}
		}
	}
	return collected, nil
}
