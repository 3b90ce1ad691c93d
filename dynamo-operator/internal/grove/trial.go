package grove

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
)

// trialTimeout is how long a trial may take: the API server waits at most ten seconds for a webhook.
const trialTimeout = 7 * time.Second

// NewCluster returns what a manager's webhooks need to know of its cluster.
func NewCluster(mgr manager.Manager, infrastructure pods.Infrastructure) (Cluster, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.WarningHandlerWithContext = listener{}
	trial, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return Cluster{}, fmt.Errorf("creating client for trials: %w", err)
	}
	return Cluster{Reader: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Infrastructure: infrastructure,
		trial: trial}, nil
}

// listener hands the warnings of an answer to its caller.
type listener struct{}

type heardKey struct{}

// HandleWarningHeaderWithContext keeps one warning.
func (listener) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if heard, ok := ctx.Value(heardKey{}).(*[]string); ok {
		*heard = append(*heard, text)
	}
}

// Try has the API server, and with it Grove's webhooks and all others, judge the PodCliqueSet of a deployment, without
// writing it. A failed trial does not refuse the deployment: a warning reports it.
func (c Cluster) Try(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment) admission.Verdict {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	var heard []string
	ctx = context.WithValue(ctx, heardKey{}, &heard)
	set, err := c.dryRun(ctx, deployment)
	if set == nil {
		return unjudged(err)
	}
	refused, err := reasons(err)
	verdict := admission.Verdict{}
	if err != nil {
		verdict = unjudged(err)
	}
	for _, reason := range refused {
		verdict.Refused = append(verdict.Refused, findingOf(deployment, set, reason))
	}
	for _, warning := range heard {
		verdict.Warnings = append(verdict.Warnings, findingOf(deployment, set, warning))
	}
	return verdict
}

func unjudged(err error) admission.Verdict {
	return admission.Verdict{Warnings: []admission.Finding{{
		Component: -1, Message: fmt.Sprintf(
			"the dry run of the deployment's objects did not succeed; the condition Ready will report the result: %v", err),
	}}}
}

// dryRun writes a deployment's PodCliqueSet without effect, over the existing one if that belongs to the deployment. It
// returns the set, if there was one to write.
func (c Cluster) dryRun(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment,
) (*grovev1alpha1.PodCliqueSet, error) {
	standing := Standing{Deployment: deployment, Options: Options{Infrastructure: c.Infrastructure}}
	found, err := get(ctx, c.Reader, deployment.Namespace, names.PodCliqueSet(deployment),
		&grovev1alpha1.PodCliqueSet{})
	if err != nil {
		return nil, err
	}
	if found != nil && metav1.IsControlledBy(found, deployment) {
		standing.PodCliqueSet = found
	}
	standing.Options.TransferLevel, err = c.transferLevel(ctx, deployment, standing.PodCliqueSet)
	if err != nil {
		return nil, err
	}
	objects, err := standing.Objects(nil)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(objects, func(object client.Object) bool {
		_, ok := object.(*grovev1alpha1.PodCliqueSet)
		return ok
	})
	set := objects[at].(*grovev1alpha1.PodCliqueSet)
	if standing.PodCliqueSet == nil {
		set.OwnerReferences = nil // A deployment that is being created has no UID yet, and can own nothing.
	}
	wanted, err := apply.Manifest(set)
	if err != nil {
		return nil, err
	}
	if standing.PodCliqueSet != nil {
		configuration := client.ApplyConfigurationFromUnstructured(wanted)
		return set, c.trial.Apply(ctx, configuration, client.DryRunAll, client.FieldOwner(backend.FieldOwner),
			client.ForceOwnership)
	}
	return set, c.trial.Create(ctx, wanted, client.DryRunAll, client.FieldOwner(backend.FieldOwner))
}

// reasons are the reasons in an answer for which an object was refused, as "path: message" if they are about a field.
// The error is any other failure.
func reasons(err error) ([]string, error) {
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		// The status reports that the name is taken, which may pass.
		return nil, nil
	case apierrors.IsNotFound(err):
		return []string{missing}, nil
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
		return nil, err
	case !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err),
		!errors.As(err, &status):
		return nil, err
	}
	details := status.Status().Details
	if status.Status().Code != http.StatusUnprocessableEntity || details == nil || len(details.Causes) == 0 {
		return []string{err.Error()}, nil
	}
	var refused []string
	for _, cause := range details.Causes {
		refused = append(refused, strings.TrimPrefix(cause.Field+": "+cause.Message, ": "))
	}
	return refused, nil
}

// The places in a PodCliqueSet that a message can name. One place can stand for several components.
var (
	anyPath  = regexp.MustCompile(`^((?:spec|metadata)(?:\.[\w-]+|\[[^\]]*\])*)( and \d+ more)?: (.*)$`)
	partPath = regexp.MustCompile(`^spec\.template\.(cliques|podCliqueScalingGroups)\[(\d+)\]\.?(.*)$`)
)

// findingOf translates a message about a PodCliqueSet into one about the deployment that it was made from.
func findingOf(
	deployment *v1beta1.DynamoGraphDeployment, set *grovev1alpha1.PodCliqueSet, text string,
) admission.Finding {
	matched := anyPath.FindStringSubmatch(text)
	if matched == nil {
		return admission.Finding{Component: -1, Message: text}
	}
	path, message := matched[1], matched[3]
	if matched[2] != "" {
		message += " (here" + matched[2] + ")"
	}
	if part := partPath.FindStringSubmatch(path); part != nil {
		index, _ := strconv.Atoi(part[2])
		if component := componentOf(deployment, set, part[1], index); component >= 0 {
			return admission.Finding{Component: component, Field: strings.TrimPrefix(part[3], "spec."),
				Message: message}
		}
	}
	if field, ok := strings.CutPrefix(path, "spec.template."); ok &&
		(slices.Contains(ownFields, field) || strings.HasPrefix(field, "topologySpread[")) {
		return admission.Finding{Component: -1, Field: field, Message: message}
	}
	return admission.Finding{Component: -1, Message: "of PodCliqueSet " + set.Name + ", " + path + ": " + message}
}

// ownFields are the fields of a PodCliqueSet's template that a deployment has too.
var ownFields = []string{"topologyConstraint", "clusterTopologyName", "priorityClassName", "repair.move",
	"repair.after"}

// componentOf is the index of the component that a clique or scaling group was made from; -1 if there is none.
func componentOf(
	deployment *v1beta1.DynamoGraphDeployment, set *grovev1alpha1.PodCliqueSet, list string, index int,
) int {
	return slices.IndexFunc(deployment.Spec.Components, func(component v1beta1.ComponentSpec) bool {
		template := set.Spec.Template
		switch {
		case list == "cliques" && index < len(template.Cliques):
			return template.Cliques[index].Labels[v1beta1.LabelComponent] == component.Name
		case list == "podCliqueScalingGroups" && index < len(template.PodCliqueScalingGroups):
			return template.PodCliqueScalingGroups[index].Name == names.Component(component.Name)
		default:
			return false
		}
	})
}
