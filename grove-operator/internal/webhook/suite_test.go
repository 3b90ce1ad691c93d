package webhook_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apiservertest"

	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/webhook"
)

func TestWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Webhooks")
}

var (
	ctx context.Context
	c   client.Client
	// as is a client of a user with all rights that no webhook limits.
	as func(user string) client.Client
	// reached is the configuration for the API server.
	reached *rest.Config
)

// warnings are the warnings that a client gets from the API server.
func warnings(do func(client.Client)) []string {
	GinkgoHelper()
	heard := &listener{}
	config := rest.CopyConfig(reached)
	config.WarningHandler = heard
	made, err := client.New(config, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	do(made)
	return *heard
}

type listener []string

// HandleWarningHeader keeps a warning.
func (l *listener) HandleWarningHeader(_ int, _ string, text string) {
	*l = append(*l, text)
}

// laterRelease is a user with sets that are not validated, as if an operator of a later release admitted them.
const laterRelease = "later-release"

// itself is the operator's user, which the chart's configurations exempt.
const itself = "system:serviceaccount:packtree-system:grove-operator"

// exempt is the user that the configuration exempts.
const exempt = "system:serviceaccount:platform:fixer"

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{
		MutatingWebhooks:   []*admissionregistrationv1.MutatingWebhookConfiguration{mutating()},
		ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{validating()},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(func() { cancel() })

	at := cluster.Environment.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme: controller.Scheme(), Cache: controller.Cache(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Host: at.LocalServingHost, Port: at.LocalServingPort, CertDir: at.LocalServingCertDir,
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(lookup.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
	webhook.Add(mgr, &groveconfigv1alpha1.OperatorConfiguration{
		DefaultSchedulerName: ptr.To("kai-scheduler"),
		TopologyAwareScheduling: groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{
			Enabled: true, Levels: []groveconfigv1alpha1.TopologyLevel{{Domain: "zone", Key: "example.com/zone"},
				{Domain: "rack", Key: "example.com/rack"}},
		},
	})
	Expect(webhook.AddAuthorizer(ctx, mgr, []string{exempt})).To(Succeed())
	as = func(user string) client.Client {
		GinkgoHelper()
		config := rest.CopyConfig(cluster.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
		made, err := client.New(config, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		return made
	}
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	address := net.JoinHostPort(at.LocalServingHost, strconv.Itoa(at.LocalServingPort))
	Eventually(func() error {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}).Should(Succeed(), "the webhooks are served")

	reached = cluster.Config
	c, err = client.New(cluster.Config, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) {
		made := set(plain)
		g.Expect(c.Create(ctx, made, client.DryRunAll)).To(Succeed())
		g.Expect(made.Spec.Template.TerminationDelay).NotTo(BeNil())
	}).Should(Succeed(), "the API server asks the mutating webhooks")
	flawed := set(plain)
	flawed.Spec.Template.Cliques[0].Spec.PodSpec.NodeName = "node-1"
	Eventually(func() error { return c.Create(ctx, flawed.DeepCopy(), client.DryRunAll) }).Should(
		MatchError(ContainSubstring("nodeName")), "the API server asks the validating webhooks")
})

var notItself = admissionregistrationv1.MatchCondition{
	Name: "not-the-operator", Expression: "request.userInfo.username != '" + itself + "'",
}

func mutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "grove-operator"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "default.podcliquesets.grove.io", ClientConfig: at(webhook.DefaultPodCliqueSetPath),
			Rules:       rules("podcliquesets", admissionregistrationv1.Create, admissionregistrationv1.Update),
			SideEffects: none(), AdmissionReviewVersions: []string{"v1"},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "not-of-a-later-release", Expression: "request.userInfo.username != '" + laterRelease + "'",
			}},
		}, {
			Name: "hold.clustertopologies.grove.io", ClientConfig: at(webhook.HoldClusterTopologyPath),
			Rules:           rules("clustertopologies", admissionregistrationv1.Create, admissionregistrationv1.Update),
			MatchConditions: []admissionregistrationv1.MatchCondition{notItself},
			SideEffects:     none(), AdmissionReviewVersions: []string{"v1"},
		}, {
			Name: "hold.clustertopologybindings.grove.io", ClientConfig: at(webhook.HoldBindingPath),
			Rules: rules("clustertopologybindings", admissionregistrationv1.Create,
				admissionregistrationv1.Update),
			MatchConditions: []admissionregistrationv1.MatchCondition{notItself},
			SideEffects:     none(), AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

func validating() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "grove-operator"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{
				Name: "validate.podcliquesets.grove.io", ClientConfig: at(webhook.ValidatePodCliqueSetPath),
				Rules:       rules("podcliquesets", admissionregistrationv1.Create, admissionregistrationv1.Update),
				SideEffects: none(), AdmissionReviewVersions: []string{"v1"},
			},
			{
				Name: "validate.clustertopologies.grove.io", ClientConfig: at(webhook.ValidateClusterTopologyPath),
				Rules: rules("clustertopologies", admissionregistrationv1.Create, admissionregistrationv1.Update,
					admissionregistrationv1.Delete),
				MatchConditions: []admissionregistrationv1.MatchCondition{notItself, {
					Name:       "not-the-end-of-others",
					Expression: "request.operation != 'DELETE' || oldObject.metadata.name == 'grove-topology'",
				}},
				SideEffects: none(), AdmissionReviewVersions: []string{"v1"},
			},
			{
				Name: "validate.clustertopologybindings.grove.io", ClientConfig: at(webhook.ValidateBindingPath),
				Rules: rules("clustertopologybindings", admissionregistrationv1.Create,
					admissionregistrationv1.Update),
				MatchConditions: []admissionregistrationv1.MatchCondition{notItself},
				SideEffects:     none(), AdmissionReviewVersions: []string{"v1"},
			},
			{
				Name: "authorize.grove.io", ClientConfig: at(webhook.AuthorizePath), Rules: managedObjects(),
				ObjectSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
				},
				SideEffects: none(), AdmissionReviewVersions: []string{"v1"},
			},
		},
	}
}

// managedObjects are the rules of the authorizer, as in the chart.
func managedObjects() []admissionregistrationv1.RuleWithOperations {
	var all []admissionregistrationv1.RuleWithOperations
	for group, resources := range map[string][]string{
		"grove.io":                  {"podcliques", "podcliquescalinggroups"},
		"scheduler.grove.io":        {"podgangs"},
		"":                          {"services", "serviceaccounts", "pods"},
		"rbac.authorization.k8s.io": {"roles", "rolebindings"},
		"autoscaling":               {"horizontalpodautoscalers"},
	} {
		all = append(all, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update,
				admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"},
				Resources: resources},
		})
	}
	return all
}

// at is a path; envtest fills in the address.
func at(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: "default", Name: "grove-operator", Path: &path,
	}}
}

func rules(
	resource string, operations ...admissionregistrationv1.OperationType,
) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"grove.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource},
		},
	}}
}

func none() *admissionregistrationv1.SideEffectClass {
	class := admissionregistrationv1.SideEffectClassNone
	return &class
}
