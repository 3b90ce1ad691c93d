package webhook

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	ctrlconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"packtree.dev/dynamo-operator/internal/conversion"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Configurations are the objects that need the certificate of the webhooks: both webhook configurations, which are
// named after the program, and the CRD for its conversion.
func Configurations(program string) []rotator.WebhookInfo {
	return []rotator.WebhookInfo{
		{Name: program, Type: rotator.Mutating},
		{Name: program, Type: rotator.Validating},
		{Name: "dynamographdeployments." + v1beta1.GroupName, Type: rotator.CRDConversion},
	}
}

// AddToManager registers the webhooks with the manager's webhook server. They read the cluster through the given
// interface only.
func AddToManager(mgr manager.Manager, cluster Cluster) error {
	converter, err := newConverter(mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("creating converter: %w", err)
	}
	kind := v1beta1.GroupVersion.WithKind("DynamoGraphDeployment").GroupKind()
	if err := mgr.GetConverterRegistry().RegisterConverter(kind, converter); err != nil {
		return fmt.Errorf("registering converter: %w", err)
	}
	server := mgr.GetWebhookServer()
	server.Register(MutatePath, &ctrladmission.Webhook{Handler: mutator{}})
	server.Register(ValidatePath, &ctrladmission.Webhook{Handler: validator{cluster}})
	server.Register(warnPath, &ctrladmission.Webhook{Handler: warner{}})
	server.Register(ConvertPath, ctrlconversion.NewWebhookHandler(mgr.GetScheme(), mgr.GetConverterRegistry()))
	return nil
}

func newConverter(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return ctrlconversion.NewHubSpokeConverter(&v1beta1.DynamoGraphDeployment{}, ctrlconversion.NewSpokeConverter(
		&v1alpha1.DynamoGraphDeployment{},
		func(_ context.Context, hub *v1beta1.DynamoGraphDeployment, spoke *v1alpha1.DynamoGraphDeployment) error {
			return conversion.FromHub(hub, spoke)
		},
		func(_ context.Context, spoke *v1alpha1.DynamoGraphDeployment, hub *v1beta1.DynamoGraphDeployment) error {
			return conversion.ToHub(spoke, hub)
		},
	))(scheme)
}
