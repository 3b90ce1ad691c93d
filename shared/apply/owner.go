package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// The verbs of an Error.
const (
	Applying      = "applying"
	Deleting      = "deleting"
	WritingStatus = "writing status of"
)

// Error says why an object could not be written.
type Error struct {
	// Verb for the action, such as Applying.
	Verb, Kind, Name string
	// Cause is mostly the answer of the API server.
	Cause error
}

// Error is "applying Service web: " and the cause.
func (e *Error) Error() string { return e.Doing() + ": " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Doing is "applying Service web".
func (e *Error) Doing() string { return fmt.Sprintf("%s %s %s", e.Verb, e.Kind, e.Name) }

// failed returns an Error about an object; nil without a cause. Objects of the cache have no kind, but their scheme
// knows it.
func (w Writer) failed(verb string, object client.Object, cause error) error {
	if cause == nil {
		return nil
	}
	kind, err := apiutil.GVKForObject(object, w.Client.Scheme())
	if err != nil {
		return fmt.Errorf("%s %T %s: %w", verb, object, object.GetName(), cause)
	}
	return &Error{Verb: verb, Kind: kind.Kind, Name: object.GetName(), Cause: cause}
}

// ForeignError says that an object with the name has another owner.
type ForeignError struct {
	Kind, Name string
	// Owner is the controller that the wanted object has.
	Owner metav1.OwnerReference
	// Holder is the controller that the existing object has; nil if it has none.
	Holder *metav1.OwnerReference
}

// Error names the object, both owners and the remedy.
func (e ForeignError) Error() string {
	holder := "no controller"
	if e.Holder != nil {
		holder = e.Holder.Kind + " " + e.Holder.Name
	}
	return fmt.Sprintf("%s %s exists and belongs to %s, not to %s %s; remove or rename it",
		e.Kind, e.Name, holder, e.Owner.Kind, e.Owner.Name)
}

// checkOwner returns a ForeignError if the object that was found has another owner.
func (w Writer) checkOwner(wanted, found client.Object) error {
	owner, holder := metav1.GetControllerOf(wanted), metav1.GetControllerOf(found)
	if owner == nil || holder != nil && holder.UID == owner.UID || w.Own != nil && w.Own(found) {
		return nil
	}
	return ForeignError{
		Kind: wanted.GetObjectKind().GroupVersionKind().Kind, Name: wanted.GetName(), Owner: *owner, Holder: holder,
	}
}

// checkName returns a ForeignError if the wanted name is taken. Found is an empty object to read into.
func (w Writer) checkName(ctx context.Context, reader client.Reader, wanted, found client.Object) error {
	err := reader.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking whether the name is taken: %w", err)
	}
	return w.checkOwner(wanted, found)
}

// Replaced reports whether a write with a UID was refused because another object has the name now.
func Replaced(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}
