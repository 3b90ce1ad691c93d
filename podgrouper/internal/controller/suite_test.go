package controller_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"packtree.dev/shared/apiservertest"

	"packtree.dev/podgrouper/internal/controller"
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(10 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Pod grouper")
}

// api is an administrator's client without a cache.
var api client.Client

// namespace is each spec's own.
var namespace string

var _ = BeforeSuite(func() {
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	api, err = client.New(cluster.Config, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())

	ctrl.SetLogger(GinkgoLogr)
	mgr, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme:  controller.Scheme(),
		Cache:   controller.CacheOptions(),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controller.Add(ctx, mgr)).To(Succeed())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
	})
})

var _ = BeforeEach(func(ctx context.Context) {
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(api.Create(ctx, created)).To(Succeed())
	namespace = created.Name
})
