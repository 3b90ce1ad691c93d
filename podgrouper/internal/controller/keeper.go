package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
	"packtree.dev/podgrouper/internal/topologies"
)

// Reasons of events.
const (
	eventInvalid    = "InvalidGrouping"
	eventForeign    = "PodGroupExists"
	eventUnreadable = "OwnerUnreadable"
	eventCycle      = "OwnerCycle"
	eventNoGroup    = "NoGroup"
	actionGroup     = "GroupPods"
)

// keeper keeps the PodGroup of a workload as it should be.
type keeper struct {
	client   client.Client
	live     client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	// turns lets one worker at a time keep a PodGroup, so that of the first pods of a workload only one writes it.
	turns turns
}

// kept is what became of a workload's PodGroup.
type kept struct {
	// podGroup is the live object, nil if there is none because it could not be made.
	podGroup *scheduling.PodGroup
	// wrong are mistakes in the workload that keep its gang from being scheduled as long as the workload stays as it is.
	wrong field.ErrorList
}

// keep makes or corrects the PodGroup of a workload, and tells the user what is wrong with the workload.
func (k *keeper) keep(ctx context.Context, w grouping.Workload) (kept, error) {
	levels, err := topologies.In(ctx, k.client)
	if err != nil {
		return kept{}, err
	}
	decision := podgroups.Decide(w, levels)
	wrong := slices.Concat(decision.Problems, decision.Fatal)
	if len(decision.Fatal) > 0 {
		k.warn(w.Owner, eventInvalid, sentence(wrong))
		return kept{wrong: wrong}, nil
	}
	key := client.ObjectKeyFromObject(decision.PodGroup)
	defer k.turns.take(key)()
	live, err := k.find(ctx, key)
	if err != nil {
		return kept{}, err
	}
	if live != nil && !podgroups.MadeHere(live) {
		k.warn(w.Owner, eventForeign, fmt.Sprintf("PodGroup %s was made by somebody else and is left as it is", live.Name))
		return kept{podGroup: live, wrong: wrong}, nil
	}
	live, err = k.apply(ctx, live, decision.PodGroup)
	switch {
	case apierrors.IsInvalid(err):
		// The schema is stricter than we are, as about the length of a level. Only the workload can mend that.
		k.warn(w.Owner, eventInvalid, shortened(err.Error()))
		return kept{wrong: append(wrong, field.Invalid(field.NewPath("PodGroup"), decision.PodGroup.Name, err.Error()))}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return kept{}, nil
	case err != nil:
		return kept{}, err
	}
	return kept{podGroup: live, wrong: wrong}, k.state(ctx, w.Owner, live, slices.Concat(wrong, decision.Unresolved))
}

// find returns the PodGroup, or nil. What the cache does not show is looked for in the cluster, so that the pods of a new
// workload do not each make its PodGroup.
func (k *keeper) find(ctx context.Context, key client.ObjectKey) (*scheduling.PodGroup, error) {
	podGroup := &scheduling.PodGroup{}
	err := k.client.Get(ctx, key, podGroup)
	if apierrors.IsNotFound(err) {
		err = k.live.Get(ctx, key, podGroup)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup: %w", err)
	}
	return podGroup, nil
}

// apply writes the desired PodGroup if that changes anything, and returns the live one.
func (k *keeper) apply(ctx context.Context, live, desired *scheduling.PodGroup) (*scheduling.PodGroup, error) {
	if live != nil {
		podgroups.YieldTo(live, desired)
		if podgroups.UpToDate(live, desired) {
			return live, nil
		}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, fmt.Errorf("converting PodGroup: %w", err)
	}
	object := &unstructured.Unstructured{Object: manifests.WithoutUnset(fields)}
	err = k.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(podgroups.FieldOwner), client.ForceOwnership)
	if err != nil {
		return nil, fmt.Errorf("applying PodGroup: %w", err)
	}
	log.FromContext(ctx).Info("applied PodGroup", "PodGroup", client.ObjectKeyFromObject(desired).String())
	applied := &scheduling.PodGroup{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, applied); err != nil {
		return nil, fmt.Errorf("reading applied PodGroup: %w", err)
	}
	return applied, nil
}

// state writes the condition Valid if it changed, and tells the owner of new mistakes.
func (k *keeper) state(ctx context.Context, owner grouping.Owner, podGroup *scheduling.PodGroup, wrong field.ErrorList) error {
	condition := metav1.Condition{
		Type:               scheduling.ConditionValid,
		Status:             metav1.ConditionTrue,
		Reason:             scheduling.ReasonAccepted,
		Message:            "the workload's wishes were understood",
		ObservedGeneration: podGroup.Generation,
	}
	if len(wrong) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, scheduling.ReasonInvalidOwner, sentence(wrong)
	}
	before := meta.FindStatusCondition(podGroup.Status.Conditions, condition.Type)
	written, err := applyCondition(ctx, k.client, k.clock.Now(), podGroup, before, condition)
	if err != nil {
		return fmt.Errorf("writing condition of PodGroup: %w", err)
	}
	if written && len(wrong) > 0 && (before == nil || before.Message != condition.Message) {
		k.warn(owner, eventInvalid, condition.Message)
	}
	return nil
}

func (k *keeper) warn(owner grouping.Owner, reason, message string) {
	k.recorder.Eventf(referenceTo(owner), nil, corev1.EventTypeWarning, reason, actionGroup, "%s", message)
}

func referenceTo(owner grouping.Owner) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: owner.Kind.GroupVersion().String(),
		Kind:       owner.Kind.Kind,
		Namespace:  owner.GetNamespace(),
		Name:       owner.GetName(),
		UID:        owner.GetUID(),
	}
}

// longestMessage is what an event's note can hold.
const longestMessage = 1024

func sentence(errs field.ErrorList) string {
	parts := make([]string, len(errs))
	for i, err := range errs {
		parts[i] = err.Error()
	}
	return shortened(strings.Join(parts, "; "))
}

func shortened(message string) string {
	const more = "…"
	if len(message) <= longestMessage {
		return message
	}
	return strings.ToValidUTF8(message[:longestMessage-len(more)], "") + more
}
