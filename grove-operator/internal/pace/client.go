package pace

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewClient returns a client that counts what it writes, and makes no more writes for a pass than its share. A status is
// counted, and always written. The client's own rate must not be limited.
func NewClient(inner client.Client, limits *Limits) client.Client {
	return paced{Client: inner, limits: limits}
}

type paced struct {
	client.Client

	limits *Limits
}

func (p paced) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return p.write(ctx, object, func() error { return p.Client.Create(ctx, object, options...) })
}

func (p paced) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return p.write(ctx, object, func() error { return p.Client.Delete(ctx, object, options...) })
}

func (p paced) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	return p.write(ctx, object, func() error { return p.Client.DeleteAllOf(ctx, object, options...) })
}

func (p paced) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return p.write(ctx, object, func() error { return p.Client.Update(ctx, object, options...) })
}

func (p paced) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return p.write(ctx, object, func() error { return p.Client.Patch(ctx, object, patch, options...) })
}

func (p paced) Apply(ctx context.Context, applied runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	object, err := unstructuredOf(applied)
	if err != nil {
		return err
	}
	return p.write(ctx, object, func() error { return p.Client.Apply(ctx, applied, options...) })
}

func (p paced) Status() client.SubResourceWriter {
	return p.SubResource("status")
}

func (p paced) SubResource(name string) client.SubResourceClient {
	return pacedSubResource{SubResourceClient: p.Client.SubResource(name), of: p}
}

// write makes a request out of the share of the pass.
func (p paced) write(ctx context.Context, object runtime.Object, request func() error) error {
	mine := shareOf(ctx)
	if !mine.take() {
		return ErrShareSpent
	}
	if err := p.count(object); err != nil {
		return err
	}
	err := request()
	if err != nil {
		mine.giveBack()
	}
	return err
}

func (p paced) count(object runtime.Object) error {
	kind, err := p.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	p.limits.Spend(kind.GroupKind())
	return nil
}

// unstructuredOf returns what is applied as the object that it is.
func unstructuredOf(applied runtime.ApplyConfiguration) (runtime.Object, error) {
	object, ok := applied.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("applying %T: only what is unstructured can be applied", applied)
	}
	return object, nil
}

// pacedSubResource counts writes of a subresource, which are no part of a pass's share.
type pacedSubResource struct {
	client.SubResourceClient

	of paced
}

func (p pacedSubResource) Create(ctx context.Context, object, sub client.Object, options ...client.SubResourceCreateOption) error {
	if err := p.of.count(object); err != nil {
		return err
	}
	return p.SubResourceClient.Create(ctx, object, sub, options...)
}

func (p pacedSubResource) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	if err := p.of.count(object); err != nil {
		return err
	}
	return p.SubResourceClient.Update(ctx, object, options...)
}

func (p pacedSubResource) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	if err := p.of.count(object); err != nil {
		return err
	}
	return p.SubResourceClient.Patch(ctx, object, patch, options...)
}

func (p pacedSubResource) Apply(ctx context.Context, applied runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	object, err := unstructuredOf(applied)
	if err != nil {
		return err
	}
	if err := p.of.count(object); err != nil {
		return err
	}
	return p.SubResourceClient.Apply(ctx, applied, options...)
}

// NewReader returns a reader past the cache that counts what it reads.
func NewReader(inner client.Reader, scheme *runtime.Scheme, limits *Limits) client.Reader {
	return pacedReader{inner: inner, scheme: scheme, limits: limits}
}

type pacedReader struct {
	inner  client.Reader
	scheme *runtime.Scheme
	limits *Limits
}

func (p pacedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(object, p.scheme)
	if err != nil {
		return err
	}
	p.limits.Spend(kind.GroupKind())
	return p.inner.Get(ctx, key, object, options...)
}

func (p pacedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, p.scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	p.limits.Spend(kind.GroupKind())
	return p.inner.List(ctx, list, options...)
}
