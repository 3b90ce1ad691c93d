package controller_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/managerstart"

	"packtree.dev/podgrouper/internal/controller"
	"packtree.dev/podgrouper/internal/podgroups"
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Pod grouper")
}

// api is an administrator's client without a cache.
var api client.Client

// writes counts what the pod grouper applies.
var writes = &counter{byObject: map[string]int{}, meanwhile: map[string]func(){}}

type counter struct {
	mutex    sync.Mutex
	byObject map[string]int
	// meanwhile is called once, before the next application of an object.
	meanwhile map[string]func()
}

// whileApplying calls a function just before an object in the spec's namespace is applied the next time.
func (c *counter) whileApplying(name string, happen func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.meanwhile[namespace+"/"+name] = happen
}

func (c *counter) countApply(
	ctx context.Context, inner client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption,
) error {
	metadata := object.(interface {
		GetNamespace() string
		GetName() string
	})
	name := metadata.GetNamespace() + "/" + metadata.GetName()
	c.mutex.Lock()
	c.byObject[name]++
	happen := c.meanwhile[name]
	delete(c.meanwhile, name)
	c.mutex.Unlock()
	if happen != nil {
		happen()
	}
	return inner.Apply(ctx, object, options...)
}

// countList counts the lists of labelled members of a PodGroup in a namespace. Lists of the pods below an owner, which
// follow changes of pods that have been owners, are not counted.
func (c *counter) countList(
	ctx context.Context, inner client.WithWatch, list client.ObjectList, options ...client.ListOption,
) error {
	var chosen client.ListOptions
	chosen.ApplyOptions(options)
	if chosen.FieldSelector != nil && strings.HasPrefix(chosen.FieldSelector.String(), "labelledPodGroup=") {
		c.mutex.Lock()
		c.byObject[chosen.Namespace+"/"+memberLists]++
		c.mutex.Unlock()
	}
	return inner.List(ctx, list, options...)
}

// memberLists is the name under which these lists are counted.
const memberLists = "lists of members"

// countStatus counts applications of a status, as countApply does for objects.
func (c *counter) countStatus(
	ctx context.Context, inner client.Client, subresource string, object runtime.ApplyConfiguration,
	options ...client.SubResourceApplyOption,
) error {
	metadata := object.(interface {
		GetNamespace() string
		GetName() string
	})
	c.mutex.Lock()
	c.byObject[metadata.GetNamespace()+"/"+metadata.GetName()+"/"+subresource]++
	c.mutex.Unlock()
	return inner.SubResource(subresource).Apply(ctx, object, options...)
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
	ctrl.SetLogger(GinkgoLogr)
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{webhookConfiguration()},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	api, err = client.New(cluster.Config, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())

	user, err := cluster.Environment.AddUser(envtest.User{Name: userName}, cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	user.Config().QPS, user.Config().Burst = cluster.Config.QPS, cluster.Config.Burst
	restricted = user.Config()
	allow(context.Background(), "", "apps", "batch", "events.k8s.io", "authorization.k8s.io", "apiextensions.k8s.io",
		"coordination.k8s.io",
		"kai.scheduler", "scheduling.run.ai", "scheduler.grove.io", "grove.io", "leaderworkerset.x-k8s.io",
		"jobset.x-k8s.io", "readable.example.com")

	serveWebhook(cluster)
	stopPodGrouper, cached = start(ctrl.Options{})
	DeferCleanup(func() { stopPodGrouper() })
})

// stopPodGrouper stops the pod grouper that runs for the whole suite; cached reads like it.
var (
	stopPodGrouper func()
	cached         client.Reader
)

// userName is the user of the pod grouper. It has the rights that allow grants.
const userName = "podgrouper"

// restricted is the configuration of that user.
var restricted *rest.Config

// allow grants the pod grouper all rights on all kinds of some groups.
func allow(ctx context.Context, groups ...string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "podgrouper-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: groups, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	Expect(api.Create(ctx, role)).To(Succeed())
	Expect(api.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: userName}},
	})).To(Succeed())
}

// start starts a pod grouper, and returns a function that stops it, and its cache.
func start(options ctrl.Options) (stop func(), cached client.Reader) {
	GinkgoHelper()
	options.Scheme = controller.Scheme()
	options.Cache = controller.CacheOptions()
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.GracefulShutdownTimeout = new(2 * time.Minute) // Pending work ends late on a busy machine.
	options.Controller = managerstart.Controllers()
	options.Controller.SkipNameValidation = new(true)
	options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		return interceptor.NewClient(inner,
				interceptor.Funcs{Apply: writes.countApply, List: writes.countList, SubResourceApply: writes.countStatus}),
			err
	}
	mgr, err := ctrl.NewManager(restricted, options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controller.Add(ctx, mgr, podgroups.Defaults{})).To(Succeed())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	return func() {
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
	}, mgr.GetCache()
}

var _ = BeforeEach(func(ctx context.Context) {
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(api.Create(ctx, created)).To(Succeed())
	namespace = created.Name
})
