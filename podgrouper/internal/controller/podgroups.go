package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/brief"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
	"packtree.dev/podgrouper/internal/topologies"
)

// Reasons of events.
const (
	eventInvalid    = "InvalidGrouping"
	eventForeign    = "PodGroupExists"
	eventUnreadable = "OwnerUnreadable"
	eventUnwritten  = "PodGroupUnwritten"
	eventCycle      = "OwnerCycle"
	eventNoGroup    = "NoGroup"
	eventUnread     = "OtherGroupUnread"
	actionGroup     = "GroupPods"
)

// podGroups keeps the PodGroups of workloads.
type podGroups struct {
	client   client.Client
	writer   apply.Writer
	recorder events.EventRecorder
	clock    clock.PassiveClock
	defaults podgroups.Defaults
	// turns makes one worker at a time keep a PodGroup, so that only one of a workload's first pods writes it.
	turns turns
	// doubts are mistakes that are not reported yet, since they may pass.
	doubts doubts
}

// newWriter writes as the pod grouper. It may write every PodGroup that it has applied, whatever its owner: the owner
// may have been removed.
func newWriter(cached client.Client, live client.Reader) apply.Writer {
	return apply.Writer{
		Client: cached, Live: live, FieldOwner: podgroups.FieldOwner,
		CompleteGroups: []string{scheduling.GroupVersion.Group},
		Own: func(found client.Object) bool {
			podGroup, ok := found.(*scheduling.PodGroup)
			return ok && podgroups.MadeHere(podGroup)
		},
	}
}

// kept is the result of keeping a workload's PodGroup.
type kept struct {
	// podGroup is the live object, nil if there is none because it could not be made.
	podGroup *scheduling.PodGroup
	// wrong are mistakes in the workload that keep its gang from being scheduled as long as the workload stays as it
	// is.
	wrong field.ErrorList
	// waitsFor says why there is no podGroup yet, if there will be one.
	waitsFor string
	// again, unless 0, is when to try again.
	again time.Duration
}

// soon is when to try again after a conflict with another writer.
const soon = time.Second

// keep creates or updates the PodGroup of a workload, and reports mistakes in the workload: on its owner or, if that
// could not be read, on the witness. All returns all pods of the workload that may count. It is called only if the
// PodGroup differs from what the pods in w ask for, so that each pod of a large workload does not list all others.
func (k *podGroups) keep(
	ctx context.Context, w grouping.Workload, witness grouping.Owner, all func() ([]*corev1.Pod, error),
) (kept, error) {
	if !w.Owner.Outline {
		witness = w.Owner
	}
	levels, err := topologies.In(ctx, k.client)
	if err != nil {
		return kept{}, err
	}
	decision := k.defaults.Decide(w, levels)
	key := client.ObjectKeyFromObject(decision.PodGroup)
	defer k.turns.take(key)()
	live, err := k.find(ctx, key)
	if err != nil {
		return kept{}, err
	}
	if !asDecided(live, decision) {
		if w.Pods, err = all(); err != nil {
			return kept{}, err
		}
		decision = k.defaults.Decide(w, levels)
	}
	return k.write(ctx, live, decision, witness)
}

// write writes the PodGroup as decided, unless it is foreign.
func (k *podGroups) write(
	ctx context.Context, live *scheduling.PodGroup, decision podgroups.Decision, witness grouping.Owner,
) (kept, error) {
	wrong := slices.Concat(decision.Problems, decision.Fatal)
	switch {
	case len(decision.Fatal) > 0:
		return k.unfit(ctx, live, wrong, witness)
	case live != nil && !podgroups.MadeHere(live):
		k.warn(witness, eventForeign, fmt.Sprintf("PodGroup %s exists and is not managed by podgrouper: it is kept",
			live.Name))
		return kept{podGroup: live, wrong: wrong}, nil
	case live != nil && podgroups.Inherited(live, decision.PodGroup):
		// The PodGroup's deletion is watched.
		return kept{wrong: wrong, waitsFor: "the PodGroup of an earlier owner of its name is about to be deleted"}, nil
	}
	applied, err := k.apply(ctx, live, decision.PodGroup)
	if err != nil {
		return k.refused(ctx, err, live, decision.PodGroup, wrong, witness)
	}
	if wait := k.unsettled(applied, decision.Unresolved); wait > 0 {
		return kept{podGroup: applied, wrong: wrong, again: wait}, nil
	}
	return kept{podGroup: applied, wrong: wrong},
		k.state(ctx, witness, applied, slices.Concat(wrong, decision.Unresolved))
}

// unsettled returns how long to wait before unresolved names are reported: 0 if they were reported already.
func (k *podGroups) unsettled(podGroup *scheduling.PodGroup, unresolved field.ErrorList) time.Duration {
	key := client.ObjectKeyFromObject(podGroup)
	if len(unresolved) == 0 || meta.IsStatusConditionFalse(podGroup.Status.Conditions, scheduling.ConditionValid) {
		k.doubts.over(key)
		return 0
	}
	return k.doubts.wait(key, k.clock.Now())
}

// unfit reports mistakes for which the PodGroup is not written: in the condition of the one that is there, if there is
// one, which stays as it was before the mistake.
func (k *podGroups) unfit(
	ctx context.Context, live *scheduling.PodGroup, wrong field.ErrorList, witness grouping.Owner,
) (kept, error) {
	if live != nil && podgroups.MadeHere(live) {
		return kept{wrong: wrong}, k.state(ctx, witness, live, wrong)
	}
	k.warn(witness, eventInvalid, sentence(wrong))
	return kept{wrong: wrong}, nil
}

// refused returns the result for a workload if its PodGroup could not be written. Live is the existing one.
func (k *podGroups) refused(
	ctx context.Context, err error, live, podGroup *scheduling.PodGroup, wrong field.ErrorList, witness grouping.Owner,
) (kept, error) {
	switch {
	case apierrors.IsInvalid(err):
		// The schema is stricter than Decide, for example about the length of a level, and the webhook refuses relations
		// that cannot be read. Only a change of the workload helps.
		wrong = append(wrong, field.Invalid(field.NewPath("PodGroup"), podGroup.Name, err.Error()))
		return k.unfit(ctx, live, wrong, witness)
	case tooLargeToStore(err):
		tooLarge := field.Forbidden(field.NewPath("PodGroup"),
			fmt.Sprintf("%d groups, with the constraints that they have, are more than "+
				"the API server can store: %s", len(podGroup.Spec.SubGroups), podgroups.FewerGroups))
		return k.unfit(ctx, live, append(wrong, tooLarge), witness)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return kept{}, nil
	case apierrors.IsConflict(err), errors.As(err, new(apply.ForeignError)):
		return kept{wrong: wrong, again: soon}, nil // Another writer made or changed it since it was read.
	default:
		k.warn(witness, eventUnwritten,
			brief.Message(fmt.Sprintf("PodGroup %s is not written yet, and this is tried again: %s", podGroup.Name, err)))
		return kept{}, err
	}
}

// asDecided reports whether the PodGroup is as decided, in the fields that the pod grouper owns.
func asDecided(live *scheduling.PodGroup, decision podgroups.Decision) bool {
	return live != nil && podgroups.MadeHere(live) && podgroups.UpToDate(live, decision.PodGroup)
}

// find returns the PodGroup, or nil. If the cache has none, the API server is asked, so that not every pod of a new
// workload makes its PodGroup.
func (k *podGroups) find(ctx context.Context, key client.ObjectKey) (*scheduling.PodGroup, error) {
	podGroup := &scheduling.PodGroup{}
	err := k.client.Get(ctx, key, podGroup)
	if apierrors.IsNotFound(err) {
		err = k.writer.Live.Get(ctx, key, podGroup)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup: %w", err)
	}
	return podGroup, nil
}

// apply writes the desired PodGroup if that changes anything, and returns the live one. It returns a conflict if the
// PodGroup is no longer as in live, or if live is nil and there is one now.
func (k *podGroups) apply(ctx context.Context, live, desired *scheduling.PodGroup) (*scheduling.PodGroup, error) {
	if live != nil {
		var err error
		if live, err = k.clear(ctx, live, desired); err != nil || podgroups.UpToDate(live, desired) {
			return live, err
		}
		podgroups.YieldTo(live, desired)
		// A later write of others must not be overwritten: whether the pod grouper may write these fields was decided
		// without it.
		desired.ResourceVersion = live.ResourceVersion
	}
	changed, err := k.writer.Apply(ctx, desired, live)
	switch {
	case err != nil:
		return nil, err
	case !changed:
		return live, nil
	}
	log.FromContext(ctx).Info("applied PodGroup", "PodGroup", client.ObjectKeyFromObject(desired).String())
	if live == nil && podgroups.WrittenByOthers(desired) {
		return nil, k.withdraw(ctx, desired)
	}
	return desired, nil
}

// withdraw takes back what was applied to a PodGroup that another writer created at the same time without a
// conflicting field. It returns a conflict.
func (k *podGroups) withdraw(ctx context.Context, applied *scheduling.PodGroup) error {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(scheduling.GroupVersion.WithKind("PodGroup"))
	nothing.SetNamespace(applied.Namespace)
	nothing.SetName(applied.Name)
	nothing.SetUID(applied.UID)
	if err := k.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(nothing), k.writer.FieldOwner); err != nil {
		return fmt.Errorf("leaving PodGroup of another manager: %w", err)
	}
	return apierrors.NewConflict(scheduling.GroupVersion.WithResource("podgroups").GroupResource(), applied.Name,
		errors.New("it was created by another client"))
}

// clear repairs the tree of groups if others have written to it: applying does not remove their groups, and is refused
// if both together make no tree.
func (k *podGroups) clear(ctx context.Context, live, desired *scheduling.PodGroup) (*scheduling.PodGroup, error) {
	if podgroups.SameTree(&live.Spec, &desired.Spec) || !podgroups.TreeShared(live) {
		return live, nil
	}
	cleared := podgroups.WithTree(live, desired)
	change := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := k.client.Patch(ctx, cleared, change, k.writer.FieldOwner); err != nil {
		return nil, fmt.Errorf("clearing PodGroup of what others have added: %w", err)
	}
	log.FromContext(ctx).Info("cleared PodGroup of what others had added", "PodGroup",
		client.ObjectKeyFromObject(desired).String())
	return cleared, nil
}

// state writes the condition Valid if it changed, and warns the owner of new mistakes.
func (k *podGroups) state(
	ctx context.Context, owner grouping.Owner, podGroup *scheduling.PodGroup, wrong field.ErrorList,
) error {
	condition := metav1.Condition{
		Type:               scheduling.ConditionValid,
		Status:             metav1.ConditionTrue,
		Reason:             scheduling.ReasonAccepted,
		Message:            "the workload's wishes were understood",
		ObservedGeneration: podGroup.Generation,
	}
	if len(wrong) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, scheduling.ReasonInvalidOwner,
			sentence(wrong)
	}
	before, err := k.stated(ctx, podGroup, condition)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	written, err := applyCondition(ctx, k.writer, k.clock.Now(), podGroup, before, condition)
	if err != nil {
		return fmt.Errorf("writing condition of PodGroup: %w", err)
	}
	if written && len(wrong) > 0 && (before == nil || before.Message != condition.Message) {
		k.warn(owner, eventInvalid, condition.Message)
	}
	return nil
}

// stated returns the present condition. If it is not the wanted one, the API server is asked: the cache may lack what
// was written for another pod of the workload a moment ago, and the owner is to be warned once.
func (k *podGroups) stated(
	ctx context.Context, podGroup *scheduling.PodGroup, wanted metav1.Condition,
) (*metav1.Condition, error) {
	stated := meta.FindStatusCondition(podGroup.Status.Conditions, wanted.Type)
	if stated != nil {
		wanted.LastTransitionTime = stated.LastTransitionTime
		if *stated == wanted {
			return stated, nil
		}
	}
	current := &scheduling.PodGroup{}
	if err := k.writer.Live.Get(ctx, client.ObjectKeyFromObject(podGroup), current); err != nil {
		return nil, fmt.Errorf("reading condition of PodGroup: %w", err)
	}
	return meta.FindStatusCondition(current.Status.Conditions, wanted.Type), nil
}

func (k *podGroups) warn(owner grouping.Owner, reason, message string) {
	warnings.WithLabelValues(reason).Inc()
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

func sentence(errs field.ErrorList) string {
	parts := make([]string, len(errs))
	for i, err := range errs {
		parts[i] = err.Error()
	}
	return brief.Message(strings.Join(parts, "; "))
}
