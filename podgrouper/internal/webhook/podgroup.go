// Package webhook validates PodGroups on admission, also foreign ones.
package webhook

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"

	"packtree.dev/podgrouper/internal/topologies"
)

// PodGroupPath is where the webhook for PodGroups is served.
const PodGroupPath = "/validate-scheduling-run-ai-v2alpha2-podgroup"

// Register serves the webhooks of the pod grouper.
func Register(mgr manager.Manager) {
	judged := admission.WithValidator(mgr.GetScheme(), validator{reader: mgr.GetClient()}).Handler
	mgr.GetWebhookServer().Register(PodGroupPath, &admission.Webhook{Handler: unknownFields{next: judged}})
}

type validator struct {
	reader client.Reader
}

// ValidateCreate refuses specs from which no tree of groups can be built, and warns of gangs that cannot be scheduled
// or are probably not meant.
func (v validator) ValidateCreate(ctx context.Context, podGroup *scheduling.PodGroup) (admission.Warnings, error) {
	levels, unread := v.levels(ctx)
	warnings, errs := JudgeNew(podGroup, levels)
	return append(unread, warnings...), invalid(podGroup, errs)
}

// ValidateUpdate validates a changed spec. An unchanged spec may be wrong: labels and finalizers must still be able to
// change.
func (v validator) ValidateUpdate(ctx context.Context, old, podGroup *scheduling.PodGroup) (admission.Warnings, error) {
	same := func(key string) bool { return old.Annotations[key] == podGroup.Annotations[key] }
	if podGroup.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, podGroup.Spec) &&
		same(scheduling.AnnotationRelations) && same(scheduling.AnnotationMinRunning) {
		return nil, nil
	}
	levels, unread := v.levels(ctx)
	related, errs := relations.Parse(podGroup.Annotations)
	errs = append(errs, podgrouptree.Validate(&podGroup.Spec)...)
	errs = append(errs, podgrouptree.CheckMinRunning(podGroup.Annotations, &podGroup.Spec)...)
	return append(unread, warningsAbout(&podGroup.Spec, related, levels)...), invalid(podGroup, errs)
}

// levels returns the levels of the Topologies. If they cannot be read, a warning says so, and no PodGroup is refused
// for it: only warnings depend on levels.
func (v validator) levels(ctx context.Context) (podgrouptree.Levels, admission.Warnings) {
	levels, err := topologies.In(ctx, v.reader)
	if err != nil {
		return nil, admission.Warnings{fmt.Sprintf("Topologies were not checked: %v", err)}
	}
	return levels, nil
}

// ValidateDelete allows every deletion.
func (v validator) ValidateDelete(context.Context, *scheduling.PodGroup) (admission.Warnings, error) {
	return nil, nil
}

func invalid(podGroup *scheduling.PodGroup, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(scheduling.GroupVersion.WithKind("PodGroup").GroupKind(), podGroup.Name, errs)
}

// JudgeNew returns warnings about a PodGroup that is created, and the errors for which it is refused. Levels may be
// nil: then Topologies are not checked.
func JudgeNew(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) ([]string, field.ErrorList) {
	related, errs := relations.Parse(podGroup.Annotations)
	errs = append(errs, podgrouptree.ValidateCreate(&podGroup.Spec)...)
	errs = append(errs, podgrouptree.CheckMinRunning(podGroup.Annotations, &podGroup.Spec)...)
	return warningsAbout(&podGroup.Spec, related, levels), errs
}

// warningsAbout returns no warnings about a spec from which no tree can be built.
func warningsAbout(spec *scheduling.PodGroupSpec, related []relations.Relation, levels podgrouptree.Levels) []string {
	tree, errs := podgrouptree.New(spec)
	if len(errs) > 0 {
		return nil
	}
	var warnings []string
	for _, finding := range append(tree.Blockers(levels), relations.Validate(related, tree, levels)...) {
		warnings = append(warnings, finding.Error()+": the gang waits until this is mended")
	}
	for _, finding := range tree.Remarks(spec, levels) {
		warnings = append(warnings, finding.Error())
	}
	return warnings
}
