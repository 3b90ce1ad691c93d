package podgroupstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	schedulingclient "packtree.dev/shared/client/clientset/versioned/typed/scheduling/v2alpha2"
	"packtree.dev/shared/undeclared"
)

// fieldOwner is under which name the scheduler applies its part of the status.
const fieldOwner = "kai-topology-plugin"

// settling is how long changes of one gang are gathered before its status is looked at: the pods of a gang are bound
// within moments of each other, and each of them is a change.
const settling = 100 * time.Millisecond

// Observe reads a gang.
type Observe func(key gang.Key) (Observed, error)

// Writer keeps the status of PodGroups.
type Writer struct {
	// Natives may be unset as long as there are no native groups.
	Natives Natives
	// Adviser may be unset.
	Adviser Adviser
	// SetCondition writes conditions of pods.
	SetCondition SetCondition

	client    schedulingclient.PodGroupsGetter
	observe   Observe
	announcer *gangevents.Announcer
	gangs     *gangstate.State
	said      said
	queue     workqueue.TypedRateLimitingInterface[gang.Key]
}

// NewWriter returns a writer that writes nothing until Run.
func NewWriter(
	client schedulingclient.PodGroupsGetter, observe Observe, announcer *gangevents.Announcer, gangs *gangstate.State,
) *Writer {
	return &Writer{
		client:    client,
		observe:   observe,
		announcer: announcer,
		gangs:     gangs,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[gang.Key](settling, time.Minute)),
	}
}

// Enqueue has the status of a gang looked at soon.
func (w *Writer) Enqueue(key gang.Key) {
	w.queue.AddAfter(key, settling)
}

// writers is how many statuses are written at the same time: one after the other, each would wait for the API server to
// answer about all others.
const writers = 8

// Run writes until ctx is done.
func (w *Writer) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, w.queue.ShutDown)
	defer stop()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for w.next(ctx) {
			}
		})
	}
	all.Wait()
}

// next writes one status, and reports whether there may be further ones.
func (w *Writer) next(ctx context.Context) bool {
	key, ended := w.queue.Get()
	if ended {
		return false
	}
	defer w.queue.Done(key)
	if err := w.write(ctx, key); err != nil {
		klog.FromContext(ctx).Error(err, "Writing the status of a PodGroup", "podGroup", key)
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Forget(key)
	return true
}

func (w *Writer) write(ctx context.Context, key gang.Key) error {
	observed, err := w.observe(key)
	if err != nil {
		return fmt.Errorf("observing gang: %w", err)
	}
	now := metav1.Now().Rfc3339Copy()
	if observed.Elsewhere || observed.Gang == nil {
		w.end(key)
		if observed.Elsewhere || len(observed.Waiting) == 0 {
			w.said.forget(key)
			return nil
		}
		w.again(key, w.tell(key, observed, metav1.Condition{Message: observed.Hold.Message}, now.Time))
		return nil
	}
	desired := Of(observed, now)
	if err := w.advise(key, observed, &desired); err != nil {
		return err
	}
	w.measure(key, desired)
	podGroup := observed.Gang.PodGroup
	subject := gangevents.Subject{NamespacedName: key, UID: podGroup.UID}
	subject.Version, err = w.publish(ctx, observed, desired)
	if err == nil {
		err = w.annotate(ctx, podGroup, desired.NodesNeeded)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // Deleted, or made anew: then its creation has put it into the queue again.
	}
	if err != nil {
		return err
	}
	news, again := newsTo(w.said.about(key).to(podGroup), observed, desired, now.Time)
	for _, one := range news {
		w.announcer.Announce(subject, one)
	}
	w.again(key, again)
	w.again(key, w.tell(key, observed, desired.Condition, now.Time))
	return nil
}

// again has a gang looked at once more after some time, if that is not 0.
func (w *Writer) again(key gang.Key, after time.Duration) {
	if after > 0 {
		w.queue.AddAfter(key, after)
	}
}

// end is for a gang that has no PodGroup, or that another profile reports: it has no status here.
func (w *Writer) end(key gang.Key) {
	if w.Adviser != nil {
		w.Adviser.Forget(key)
	}
	said := w.said.about(key)
	metrics.GangWaits(said.waits, "")
	said.waits = ""
	w.gangs.Concluded(key, scheduling.ReasonIncomplete)
}

// publish writes the status of a gang where it says something else, and returns the version of the PodGroup then.
func (w *Writer) publish(ctx context.Context, observed Observed, desired Desired) (version string, err error) {
	podGroup := observed.Gang.PodGroup
	if _, native := nativegroups.RefOf(podGroup.Namespace, podGroup.Name); native {
		return podGroup.ResourceVersion, w.publishGroups(ctx, observed, desired.Condition)
	}
	if !desired.Differs(&podGroup.Status) {
		return podGroup.ResourceVersion, nil
	}
	written, err := w.apply(ctx, podGroup, desired)
	if err != nil {
		return "", err
	}
	return written.ResourceVersion, nil
}

// apply writes the scheduler's part of the status, without the fields that the cluster's older CRD does not declare.
func (w *Writer) apply(
	ctx context.Context, podGroup *scheduling.PodGroup, desired Desired,
) (*scheduling.PodGroup, error) {
	status := desired.Status()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, fmt.Errorf("converting status: %w", err)
	}
	for {
		body, err := json.Marshal(map[string]any{
			"apiVersion": scheduling.GroupVersion.String(),
			"kind":       "PodGroup",
			"metadata":   map[string]any{"namespace": podGroup.Namespace, "name": podGroup.Name, "uid": podGroup.UID},
			"status":     fields,
		})
		if err != nil {
			return nil, fmt.Errorf("encoding status: %w", err)
		}
		written, err := w.client.PodGroups(podGroup.Namespace).Patch(ctx, podGroup.Name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: fieldOwner, Force: new(true)}, "status")
		switch {
		case err == nil:
			return written, nil
		case !undeclared.Remove(fields, err):
			return nil, fmt.Errorf("applying status: %w", err)
		}
	}
}

// measure records in the metrics whether and why the gang waits.
func (w *Writer) measure(key gang.Key, desired Desired) {
	reason := ""
	if desired.Condition.Status != metav1.ConditionTrue {
		reason = desired.Condition.Reason
	}
	said := w.said.about(key)
	metrics.GangWaits(said.waits, reason)
	said.waits = reason
	if complete := w.gangs.Concluded(key, reason); !complete.IsZero() {
		metrics.GangBound(time.Since(complete))
	}
}
