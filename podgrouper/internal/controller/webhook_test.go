package controller_test

import (
	"context"
	"net"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"packtree.dev/shared/apiservertest"

	"packtree.dev/podgrouper/internal/controller"
	"packtree.dev/podgrouper/internal/webhook"
)

var (
	// asking is an administrator's client that keeps the warnings of the API server.
	asking   client.Client
	warnings = &collector{}
)

// collector keeps the warnings of the API server.
type collector struct{ messages []string }

func (c *collector) HandleWarningHeader(_ int, _, message string) {
	c.messages = append(c.messages, message)
}

// serveWebhook serves the webhook until the suite ends.
func serveWebhook(cluster *apiservertest.Cluster) {
	GinkgoHelper()
	var err error
	quoting := rest.CopyConfig(cluster.Config)
	quoting.WarningHandler = warnings
	asking, err = client.New(quoting, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())

	serving := cluster.Environment.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme:  controller.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: crwebhook.NewServer(crwebhook.Options{
			Host: serving.LocalServingHost, Port: serving.LocalServingPort, CertDir: serving.LocalServingCertDir,
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	webhook.Register(mgr)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
	})
	address := net.JoinHostPort(serving.LocalServingHost, strconv.Itoa(serving.LocalServingPort))
	Eventually(func() error {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return connection.Close()
	}).Should(Succeed())
	cycle := podGroupOf(subGroups(leaf("a", "a")))
	Eventually(func() error { return asking.Create(context.Background(), cycle.DeepCopy(), client.DryRunAll) }).Should(
		MatchError(ContainSubstring("parents make a cycle")), "the API server asks the webhook")
}

// webhookConfiguration asks the webhook about the PodGroups of one namespace.
func webhookConfiguration() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "podgrouper"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "podgroups.scheduling.run.ai",
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
				Namespace: "default", Name: "podgrouper", Path: new(webhook.PodGroupPath),
			}},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault},
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule: admissionv1.Rule{
					APIGroups: []string{"scheduling.run.ai"}, APIVersions: []string{"v2alpha2"},
					Resources: []string{"podgroups"},
				},
			}},
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             new(admissionv1.SideEffectClassNone),
			FailurePolicy:           new(admissionv1.Fail),
		}},
	}
}
