package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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

// writes counts what the pod grouper applies.
var writes = &counter{}

type counter struct {
	mutex    sync.Mutex
	byObject map[string]int
}

func (c *counter) countApply(ctx context.Context, inner client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	metadata := object.(interface {
		GetNamespace() string
		GetName() string
	})
	c.mutex.Lock()
	if c.byObject == nil {
		c.byObject = map[string]int{}
	}
	c.byObject[metadata.GetNamespace()+"/"+metadata.GetName()]++
	c.mutex.Unlock()
	return inner.Apply(ctx, object, options...)
}

// of returns how often an object in the spec's namespace was applied.
func (c *counter) of(name string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.byObject[namespace+"/"+name]
}

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
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			inner, err := client.NewWithWatch(config, options)
			return interceptor.NewClient(inner, interceptor.Funcs{Apply: writes.countApply}), err
		},
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
