package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/dynamo-operator/internal/controller"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/dynamo-operator/internal/webhook"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/managerstart"
)

var (
	cluster *apiservertest.Cluster
	k8s     client.Client
	// cached reads like the operator of the suite.
	cached client.Client
)

// slow is for actions that are retried only from time to time.
const slow = 3 * time.Minute

func TestDeployments(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(150 * time.Millisecond)
	RunSpecs(t, "DynamoGraphDeployments on an API server")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	var err error
	cluster, err = apiservertest.Start(webhookConfigurations())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	k8s, err = client.New(cluster.Config, client.Options{Scheme: newScheme()})
	Expect(err).NotTo(HaveOccurred())
	convertThroughWebhook(ctx)
	Expect(k8s.Create(ctx, inferencePools())).To(Succeed())
	Eventually(func() error {
		_, err := k8s.RESTMapper().RESTMapping(
			schema.GroupKind{Group: "inference.networking.k8s.io", Kind: "InferencePool"}, "v1")
		return err
	}).Should(Succeed(), "the kind is served")
	startOperator()
	Expect(k8s.Create(ctx, topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "block", "rack", "host"))).To(
		Succeed())
	eventuallyAsked(ctx)
})

// eventuallyAsked waits until the API server asks every webhook: it learns of their configurations after it has stored
// them, and of each kind of configuration by itself. The first deployment is refused by the operator's mutating
// webhook. Of the second one the validating webhook tries what it becomes, which Grove's webhook refuses.
func eventuallyAsked(ctx context.Context) {
	misspelt := written("default", strings.Replace(asMap, "replicas:", "replcas:", 1))
	untaken := written("default", strings.Replace(asComponents, "spec:\n", "spec:\n  priorityClassName: high\n", 1))
	for object, reason := range map[*unstructured.Unstructured]string{
		misspelt: "unknown field", untaken: "priorityClassName: Invalid value: not here",
	} {
		Eventually(func() error { return k8s.Create(ctx, object.DeepCopy(), client.DryRunAll) }).Should(
			MatchError(ContainSubstring(reason)), "the API server asks the webhooks")
	}
}

// newScheme is the program's scheme, and definitions for the tests.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme,
		grovev1alpha1.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	return scheme
}

func webhookConfigurations() envtest.WebhookInstallOptions {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create,
			admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1beta1.GroupName}, APIVersions: []string{"v1alpha1", "v1beta1"},
			Resources: []string{"dynamographdeployments"},
		},
	}}
	none := admissionregistrationv1.SideEffectClassNone
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "x", Path: &path},
		}
	}
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "dynamo-operator"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "complete.dynamographdeployments.nvidia.com", Rules: rules, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}, ClientConfig: at(webhook.MutatePath),
			}},
		}},
		ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "grove-operator"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "podcliquesets.grove.io", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
				ClientConfig: at(grovePath),
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: rules[0].Operations,
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{grovev1alpha1.GroupName}, APIVersions: []string{"v1alpha1"},
						Resources: []string{"podcliquesets"},
					},
				}},
			}},
		}, {
			ObjectMeta: metav1.ObjectMeta{Name: "dynamo-operator"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "validate.dynamographdeployments.nvidia.com", Rules: rules, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}, ClientConfig: at(webhook.ValidatePath),
			}},
		}},
	}
}

// convertThroughWebhook does what the chart does: it writes into the CRD where to convert.
func convertThroughWebhook(ctx context.Context) {
	options := cluster.Environment.WebhookInstallOptions
	definition := &apiextensionsv1.CustomResourceDefinition{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "dynamographdeployments.nvidia.com"}, definition)).To(Succeed())
	before := definition.DeepCopy()
	url := localURL(options, webhook.ConvertPath)
	definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url,
				CABundle: options.LocalServingCAData},
			ConversionReviewVersions: []string{"v1"},
		},
	}
	Expect(k8s.Patch(ctx, definition, client.MergeFrom(before))).To(Succeed())
}

// startOperator starts the program as its main does, until the calling test ends.
func startOperator() {
	options := cluster.Environment.WebhookInstallOptions
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
	})
	server.Register(grovePath, &ctrladmission.Webhook{Handler: groveAdmission{}})
	var stop func()
	cached, stop = runOperator(cluster.Config, ctrl.Options{WebhookServer: server})
	DeferCleanup(stop)
	listens := server.StartedChecker()
	Eventually(func() error { return listens(nil) }).Should(Succeed(), "the webhook server listens")
}

// runOperator starts the program on an API server. It returns a client that reads like the program, and a function that
// stops it.
func runOperator(config *rest.Config, options ctrl.Options) (cached client.Client, stop func()) {
	options.Scheme, options.Cache = newScheme(), controller.CacheOptions(grove.Backend{}.Owned(), grove.Slim)
	options.Metrics.BindAddress = "0"
	options.GracefulShutdownTimeout = new(slow) // Pending work ends late on a busy machine.
	options.Controller = managerstart.Controllers()
	options.Controller.SkipNameValidation = new(true) // Several managers run in this process.
	mgr, err := ctrl.NewManager(config, options)
	Expect(err).NotTo(HaveOccurred())
	Expect(controller.AddToManager(mgr,
		grove.Backend{Reader: mgr.GetClient(), Topologies: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper()})).To(
		Succeed())
	if options.WebhookServer != nil {
		known, err := grove.NewCluster(mgr, pods.Infrastructure{})
		Expect(err).NotTo(HaveOccurred())
		Expect(webhook.AddToManager(mgr, known)).To(Succeed())
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(stopped)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return mgr.GetClient(), func() {
		cancel()
		<-stopped
	}
}

// inferencePools are a kind that comes with the inference extension of the Gateway API.
func inferencePools() *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "inferencepools.inference.networking.k8s.io",
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "inference.networking.k8s.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "InferencePool", ListKind: "InferencePoolList",
				Plural: "inferencepools", Singular: "inferencepool"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
			}},
		},
	}
}

func topology(name string, domains ...string) *grovev1alpha1.ClusterTopology {
	topology := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, domain := range domains {
		topology.Spec.Levels = append(topology.Spec.Levels, grovev1alpha1.TopologyLevel{
			Domain: grovev1alpha1.TopologyDomain(domain), Key: "topology/" + domain,
		})
	}
	return topology
}

// newNamespace isolates a test.
func newNamespace(ctx context.Context) string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "dgd-"}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
