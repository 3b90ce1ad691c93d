package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// side is how many worlds exist at the same time.
const side = 16

// TestEveryCallMayFailOnce runs each story once without faults, to record its calls and the end of each step, and then
// several times with faults, until each call has failed: in one way, or in every way if E2E_CRASHES is all, as in make
// e2e-crashes.
func TestEveryCallMayFailOnce(t *testing.T) {
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, cluster.Stop())
	})
	passes.Window, passes.Late, gangs.Silence = 40*time.Millisecond, 200*time.Millisecond, 0
	faulty := injector{mu: &sync.Mutex{}, plans: map[string]*plan{}}
	runOperator(t, cluster.Config, faulty)
	stage := newStage(t, cluster.Config, faulty)
	var group sync.WaitGroup // In parallel whatever -parallel says, since the stories mostly wait.
	for _, story := range stories {
		group.Go(func() { t.Run(story.name, func(t *testing.T) { stage.run(t, story) }) })
	}
	group.Wait()
}

// stage runs stories, several worlds at a time.
type stage struct {
	injector
	client client.Client
	births *births
	free   chan struct{}
}

// run runs a story without faults, and then with all faults.
func (s stage) run(t *testing.T, story story) {
	t.Helper()
	namespace := story.name + "-without"
	ends, sound := make([]string, len(story.steps)), s.expect(namespace, &plan{})
	err := s.live(t, story, namespace, func(step int, w *world) (err error) {
		ends[step], err = w.atRest(t.Context(), story.steps[step])
		return err
	})
	require.NoError(t, err, "without faults: %v\n%s", err, strings.Join(ends, "\n=====\n"))
	t.Logf("calls of one life: %v", sound.made)
	for _, plan := range s.tryAll(t, story, ends) {
		for kind, count := range sound.made {
			if first := (call{kind, 0}); plan.nth == 0 && count > 0 && !byChance(kind) && !plan.fired[first] {
				t.Errorf("%s of the first %s was never met", plan.way(first), kind)
			}
		}
	}
}

// tryAll runs the story for each n, or with E2E_CRASHES=all for each n and each way in which the first call fails.
func (s stage) tryAll(t *testing.T, story story, ends []string) []*plan {
	t.Helper()
	var group sync.WaitGroup
	var plans []*plan
	for nth := range worlds {
		firsts := []int{nth}
		if os.Getenv("E2E_CRASHES") == "all" {
			firsts = []int{0, 1, 2, 3}
		}
		for _, first := range firsts {
			name := fmt.Sprintf("%s-%d-%d", story.name, nth, first)
			plans = append(plans, s.expect(name, &plan{faulty: true, nth: nth, first: first}))
			group.Go(func() {
				s.free <- struct{}{}
				defer func() { <-s.free }()
				assert.NoError(t, s.live(t, story, name,
					func(step int, w *world) error { return endsAs(t.Context(), w, ends[step]) }),
					"faults of calls no. %d, %s first", nth+1, ways[first])
			})
		}
	}
	group.Wait()
	return plans
}

// expect injects the faults of a plan into a namespace.
func (i injector) expect(namespace string, what *plan) *plan {
	i.mu.Lock()
	defer i.mu.Unlock()
	what.made, what.fired = map[string]int{}, map[call]bool{}
	i.plans[namespace] = what
	return what
}

// newStage returns a stage with a client that reads from a cache: it reads many worlds all the time.
func newStage(t *testing.T, config *rest.Config, faulty injector) stage {
	t.Helper()
	objects, err := cache.New(config, cache.Options{Scheme: controller.Scheme()})
	require.NoError(t, err)
	go func() {
		assert.NoError(t, objects.Start(t.Context()))
	}()
	c, err := client.New(config, client.Options{
		Scheme: controller.Scheme(), Cache: &client.CacheOptions{Reader: objects, Unstructured: true},
	})
	require.NoError(t, err)
	counted := &births{seen: map[string][]types.UID{}}
	pods, err := objects.GetInformer(t.Context(), &corev1.Pod{})
	require.NoError(t, err)
	_, err = pods.AddEventHandler(counted)
	require.NoError(t, err)
	return stage{faulty, c, counted, make(chan struct{}, side)}
}

// live runs a story in a namespace of its own, and calls judge at the end of each step.
func (s stage) live(t *testing.T, story story, namespace string, judge func(step int, w *world) error) error {
	ctx := t.Context()
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	w := &world{s.client, namespace, fixture.Set(t, story.manifest), s.births}
	w.set.Namespace = namespace
	for i, step := range story.steps {
		if err := step.do(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := judge(i, w); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func endsAs(ctx context.Context, w *world, want string) error {
	got, err := w.until(ctx, func(now string) bool { return now == want })
	if err != nil {
		return fmt.Errorf("%w; (-want +got):\n%s", err, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
	return nil
}

// runOperator runs all controllers, with a client that fails as planned.
func runOperator(t *testing.T, config *rest.Config, faulty injector) {
	t.Helper()
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		faulty.next = next
		return faulty
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: controller.Scheme(), Cache: controller.Cache(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: managerstart.Controllers(), GracefulShutdownTimeout: new(patience),
	})
	require.NoError(t, err)
	operator := &groveconfigv1alpha1.OperatorConfiguration{}
	configuration.SetDefaults(operator)
	// Many worlds at once make more requests than an operator does.
	syncs := int32(side)
	operator.RuntimeClientConnection.QPS, operator.RuntimeClientConnection.Burst = config.QPS, int32(config.Burst)
	controllers := &operator.Controllers
	controllers.PodCliqueSet.ConcurrentSyncs, controllers.PodCliqueScalingGroup.ConcurrentSyncs = &syncs, &syncs
	controllers.PodClique.ConcurrentSyncs, controllers.PodGang.ConcurrentSyncs = &syncs, &syncs
	require.NoError(t, controller.Add(t.Context(), mgr, operator))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the operator ended: %v", err)
		}
	})
}
