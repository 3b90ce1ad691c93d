// Package controller creates and updates the objects that a DynamoGraphDeployment asks for, and keeps its status up to
// date.
package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/status"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/warning"
)

// uninstalledPeriod is the time after which kinds that are not installed are looked for again.
const uninstalledPeriod = 10 * time.Second

// Reconciler keeps the objects of deployments.
type Reconciler struct {
	client   client.Client
	writer   apply.Writer
	backend  backend.Backend
	recorder events.EventRecorder
	clock    clock.PassiveClock
}

// Reconcile reads the objects of a deployment, decides, writes the differences, and reports the result in the status.
func (r *Reconciler) Reconcile(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment,
) (reconcile.Result, error) {
	if !deployment.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	standing, err := r.backend.Read(ctx, deployment)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observing %s: %w", client.ObjectKeyFromObject(deployment), err)
	}
	observed := standing.Observation()
	restarting := status.NextRestart(deployment, observed)
	if observed.Missing != "" {
		// The installation of the kinds brings the next pass, which may come before the API server serves them.
		failure := notInstalled(observed.Missing)
		return reconcile.Result{RequeueAfter: uninstalledPeriod}, r.writeStatus(ctx, deployment,
			r.status(deployment, observed, restarting, failure))
	}
	written, err := r.write(ctx, deployment, standing, restarting)
	if written {
		// The observation is older than the write; the next observation comes with the watch.
		observed.Current = false
	}
	failure, again := r.failureOf(err), time.Duration(0)
	if err == nil && observed.Lacking != "" {
		failure, again = notInstalled(observed.Lacking), uninstalledPeriod
	}
	if statusErr := r.writeStatus(ctx, deployment, r.status(deployment, observed, restarting,
		failure)); statusErr != nil {
		return reconcile.Result{}, statusErr
	}
	return reconcile.Result{RequeueAfter: again}, ignoreConflict(err)
}

func (r *Reconciler) status(
	deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation, restarting *v1beta1.RestartStatus,
	failure *status.Failure,
) v1beta1.DynamoGraphDeploymentStatus {
	return status.Next(deployment, observed, restarting, failure, metav1.NewTime(r.clock.Now()))
}

// write brings objects and replicas in line, and reports whether an object changed that observations are about.
func (r *Reconciler) write(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment, standing backend.Standing,
	restarting *v1beta1.RestartStatus,
) (bool, error) {
	written := false
	// Scalings come first: the note on a scaled object says which number was asked for, even if a later write fails.
	for _, scale := range standing.Scalings() {
		// A scaled object that is gone is made anew, with the number of the template.
		if err := r.scale(ctx, scale); client.IgnoreNotFound(err) != nil {
			return true, r.writeError("scaling", scale.Object, err)
		}
		written = true
	}
	objects, err := standing.Objects(restartedBy(deployment, restarting))
	if err != nil {
		return written, &apply.Error{Verb: "translating", Kind: "DynamoGraphDeployment",
			Name: deployment.Name, Cause: err}
	}
	for _, object := range objects {
		differed, err := r.apply(ctx, deployment, object)
		written = written || differed && r.observes(object)
		if err != nil {
			return written, err
		}
	}
	for _, report := range standing.Reports(metav1.NewTime(r.clock.Now())) {
		if _, err := r.writer.Status(ctx, report.Adapter, &report.Adapter.Status, &report.Status); err != nil {
			return written, err
		}
	}
	for _, object := range standing.Leftovers(objects) {
		log.FromContext(ctx).Info("deleting", "kind", fmt.Sprintf("%T", object), "name", object.GetName())
		if err := r.writer.Delete(ctx, object); err != nil {
			return written, err
		}
	}
	return written, nil
}

func (r *Reconciler) writeError(verb string, object client.Object, cause error) error {
	kind, err := r.client.GroupVersionKindFor(object)
	if err != nil {
		return errors.Join(cause, err)
	}
	return &apply.Error{Verb: verb, Kind: kind.Kind, Name: object.GetName(), Cause: cause}
}

// observes reports whether observations are about an object: whether it is of the framework's kinds.
func (r *Reconciler) observes(object client.Object) bool {
	return slices.ContainsFunc(r.backend.Installed(), func(kinds backend.Installed) bool { return owns(kinds, object) })
}

func owns(kinds backend.Installed, object client.Object) bool {
	return slices.ContainsFunc(kinds.Owned,
		func(owned client.Object) bool { return reflect.TypeOf(owned) == reflect.TypeOf(object) })
}

func restartedBy(deployment *v1beta1.DynamoGraphDeployment, restarting *v1beta1.RestartStatus) []string {
	if deployment.Spec.Restart == nil || restarting == nil {
		return nil
	}
	return restarting.Restarted
}

// writeStatus writes the status if it changed, and emits events once that is durable.
func (r *Reconciler) writeStatus(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment, next v1beta1.DynamoGraphDeploymentStatus,
) error {
	before := deployment.Status
	written, err := r.writer.StatusOfSeen(ctx, deployment, &before, &next)
	if err != nil || !written {
		return ignoreConflict(err)
	}
	for _, event := range status.Events(before, next) {
		logEvent(log.FromContext(ctx), event)
		r.recorder.Eventf(deployment, nil, event.Type, event.Reason, "Reconcile", "%s", event.Message)
	}
	return nil
}

// logEvent writes an event to the log, at the level of the event.
func logEvent(logger logr.Logger, event status.Event) {
	if event.Type == corev1.EventTypeWarning {
		warning.Log(logger, event.Message, "event", event.Reason)
		return
	}
	logger.Info(event.Message, "event", event.Reason)
}

// failureOf returns the failure that the status reports for an error; nil for errors that the next pass will not have.
func (r *Reconciler) failureOf(err error) *status.Failure {
	var taken *nameTakenError
	var unwritten *apply.Error
	switch {
	case err == nil || apierrors.IsConflict(err):
		return nil
	case errors.As(err, &taken):
		return &status.Failure{Reason: v1beta1.ReasonNameTaken, Message: taken.Error()}
	case !errors.As(err, &unwritten):
		return nil
	case apierrors.IsNotFound(err):
		// A write by apply creates the object: not found means that its kind is gone.
		return notInstalled(r.missing(unwritten.Kind))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return &status.Failure{Reason: v1beta1.ReasonRejected, Message: err.Error()}
	default:
		return &status.Failure{Reason: v1beta1.ReasonNotYetWritten, Message: err.Error(), Passing: unwritten.Doing()}
	}
}

func notInstalled(missing string) *status.Failure {
	return &status.Failure{Reason: v1beta1.ReasonNotInstalled, Message: missing}
}

// missing is the message for a kind that others install and that is not there.
func (r *Reconciler) missing(kind string) string {
	installed := r.backend.Installed()
	at := slices.IndexFunc(installed, func(kinds backend.Installed) bool {
		return slices.ContainsFunc(kinds.Owned,
			func(owned client.Object) bool { return reflect.TypeOf(owned).Elem().Name() == kind })
	})
	return installed[max(at, 0)].Missing
}

// ignoreConflict drops a conflict: another writer changed the object meanwhile, and the watch brings the new state.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
