package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/clustertopology"
	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	passes.Window, passes.Late = 40*time.Millisecond, 200*time.Millisecond
	clustertopology.NodeWindow, gangs.Silence = 500*time.Millisecond, 0
	RunSpecs(t, "Controllers")
}

var (
	ctx  context.Context
	c    client.Client
	rcfg *rest.Config
	// environment is the API server's.
	environment *envtest.Environment
)

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	rcfg, environment = cluster.Config, cluster.Environment
	c, err = client.New(rcfg, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(func() {
		if stopOperator != nil {
			stopOperator()
		}
		cancel()
	})
	start(levels("zone", "rack", "host"))
})

// levels is a configuration with a default topology of these domains; without any, topology awareness is off.
func levels(domains ...string) *groveconfigv1alpha1.OperatorConfiguration {
	config := &groveconfigv1alpha1.OperatorConfiguration{}
	configuration.SetDefaults(config)
	config.TopologyAwareScheduling.Enabled = len(domains) > 0
	for _, domain := range domains {
		config.TopologyAwareScheduling.Levels = append(config.TopologyAwareScheduling.Levels,
			groveconfigv1alpha1.TopologyLevel{Domain: domain, Key: "example.com/" + domain})
	}
	return config
}

var (
	stopOperator func()
	// cached reads like the running operator.
	cached client.Client
)

// start runs the operator, in place of the one that ran before, until it knows the default topology.
func start(operator *groveconfigv1alpha1.OperatorConfiguration) {
	GinkgoHelper()
	startThrough(rcfg, operator)
}

// startThrough is start with a configuration of the operator's own for the API server.
func startThrough(way *rest.Config, operator *groveconfigv1alpha1.OperatorConfiguration) {
	GinkgoHelper()
	if stop := stopOperator; stop != nil {
		stopOperator = nil // An operator that does not end is not waited for twice.
		stop()
	}
	grace := 4 * time.Minute // Pending work ends late on a busy machine.
	controllers := managerstart.Controllers()
	controllers.SkipNameValidation = new(true)
	mgr, err := ctrl.NewManager(way, ctrl.Options{
		Scheme: controller.Scheme(), Cache: controller.Cache(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllers, GracefulShutdownTimeout: &grace,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(controller.Add(ctx, mgr, operator)).To(Succeed())
	cached = mgr.GetClient()
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	Expect(mgr.GetCache().WaitForCacheSync(running)).To(BeTrue())
	if wanted := topology.Default(operator.TopologyAwareScheduling); wanted != nil {
		Eventually(func(g Gomega) { // Another configuration may have had another one, or none.
			known := &grovev1alpha1.ClusterTopology{}
			g.Expect(cached.Get(ctx, client.ObjectKeyFromObject(wanted), known)).To(Succeed())
			g.Expect(known.DeletionTimestamp).To(BeNil())
			g.Expect(known.Spec.Levels).To(Equal(wanted.Spec.Levels))
		}).Should(Succeed())
	}
	stopOperator = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			Fail(fmt.Sprintf("the operator ended: %v", err))
		}
	}
}

// namespace makes a namespace for one test.
func namespace() string {
	GinkgoHelper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(c.Create(ctx, made)).To(Succeed())
	return made.Name
}

// createSet creates the PodCliqueSet of a manifest.
func createSet(in, manifest string) *grovev1alpha1.PodCliqueSet {
	GinkgoHelper()
	set := fixture.Set(GinkgoTB(), manifest)
	set.Namespace = in
	Expect(c.Create(ctx, set)).To(Succeed())
	return set
}

// get reads an object by name.
func get[T client.Object](in, name string, into T) T {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKey{Namespace: in, Name: name}, into)).To(Succeed())
	return into
}

// scale sets the replicas of an object as its scale subresource does: it changes spec.replicas and nothing else.
func scale(object client.Object, replicas int32) {
	GinkgoHelper()
	patch(object, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// patch changes an object by a JSON patch, which is a list, or else by a merge patch.
func patch(object client.Object, change string) {
	GinkgoHelper()
	kind := types.MergePatchType
	if strings.HasPrefix(change, "[") {
		kind = types.JSONPatchType
	}
	Expect(c.Patch(ctx, object, client.RawPatch(kind, []byte(change)))).To(Succeed())
}

// gone reports whether an object is gone.
func gone(object client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object)) }
}

// condition is one of the conditions of an object; the zero value if the object lacks it.
func condition(object client.Object, kind string) metav1.Condition {
	GinkgoHelper()
	content, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	var read struct {
		Status struct{ Conditions []metav1.Condition }
	}
	Expect(json.Unmarshal(content, &read)).To(Succeed())
	if found := meta.FindStatusCondition(read.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// verdict is the status of a condition and its reason; empty if the object lacks it.
func verdict(object client.Object, kind string) string {
	GinkgoHelper()
	found := condition(object, kind)
	return strings.TrimSpace(string(found.Status) + " " + found.Reason)
}

// podsOf lists the pods of a namespace with these labels.
func podsOf(in string, labels client.MatchingLabels) func() []corev1.Pod {
	return func() []corev1.Pod {
		GinkgoHelper()
		var list corev1.PodList
		Expect(c.List(ctx, &list, client.InNamespace(in), labels)).To(Succeed())
		return list.Items
	}
}

// run does the work of scheduler and kubelet for pods without gates: each gets a node and becomes ready, unless the
// operator has deleted it since it was listed.
func run(in string, labels client.MatchingLabels) {
	GinkgoHelper()
	for _, pod := range podsOf(in, labels)() {
		// Callers do this at each look, and a patch that changes nothing is a request all the same.
		if len(pod.Spec.SchedulingGates) > 0 || isReady(&pod) {
			continue
		}
		var err error
		if pod.Spec.NodeName == "" {
			err = c.SubResource("binding").Create(ctx, &pod,
				&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})
		}
		if err == nil {
			err = readiness(&pod, corev1.ConditionTrue)
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			Expect(err).NotTo(HaveOccurred())
		}
	}
}

// runs does the work of scheduler and kubelet until a set is in a state.
func runs(in, set, want string) {
	GinkgoHelper()
	Eventually(func() string {
		run(in, client.MatchingLabels{grovev1alpha1.LabelPartOf: set})
		return state(in, set)()
	}).Should(Equal(want))
}

// isReady reports whether a pod has a node and is ready already.
func isReady(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

func setReady(pod *corev1.Pod, ready corev1.ConditionStatus) {
	GinkgoHelper()
	Expect(readiness(pod, ready)).To(Succeed())
}

// readiness lets a pod run, ready or not, as a kubelet says it.
func readiness(pod *corev1.Pod, ready corev1.ConditionStatus) error {
	var changed corev1.Pod
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod), &changed); err != nil {
		return err
	}
	before := changed.DeepCopy()
	changed.Status.Phase = corev1.PodRunning
	changed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return c.Status().Patch(ctx, &changed, client.MergeFrom(before))
}

// gates returns the names of the gates of pods, one string a pod.
func gates(pods []corev1.Pod) []string {
	all := []string{}
	for _, pod := range pods {
		names := ""
		for _, gate := range pod.Spec.SchedulingGates {
			names += gate.Name + " "
		}
		all = append(all, names)
	}
	return all
}
