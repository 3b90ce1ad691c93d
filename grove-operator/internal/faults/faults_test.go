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

	"github.com/google/go-cmp/cmp"
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
	"packtree.dev/grove-operator/internal/fixture"
)

// side is how many worlds there are at the same time.
const side = 16

// TestEveryCallMayFailOnce has each story once without faults, which says what is called and how each step is to end, and
// then several times with faults, until each call has failed: in one way, or in every way where E2E_CRASHES is all, as make e2e-crashes has it.
func TestEveryCallMayFailOnce(t *testing.T) {
	cluster, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	faulty := injector{mu: &sync.Mutex{}, plans: map[string]*plan{}}
	runOperator(t, cluster.Config, faulty)
	stage := newStage(t, cluster.Config, faulty)
	var group sync.WaitGroup // Side by side whatever -parallel says, since there is much waiting in them.
	for _, told := range stories {
		group.Go(func() { t.Run(told.name, func(t *testing.T) { stage.tell(t, told) }) })
	}
	group.Wait()
}

// stage is where stories are told, some worlds at a time.
type stage struct {
	injector
	client client.Client
	births *births
	free   chan struct{}
}

// tell tells a story without faults, and then in all ways of failing.
func (s stage) tell(t *testing.T, told story) {
	t.Helper()
	namespace := told.name + "-without"
	ends, sound := make([]string, len(told.steps)), s.expect(namespace, &plan{})
	err := s.live(t, told, namespace, func(step int, w *world) (err error) {
		ends[step], err = w.atRest(t.Context(), told.steps[step])
		return err
	})
	if err != nil {
		t.Fatalf("without faults: %v\n%s", err, strings.Join(ends, "\n=====\n"))
	}
	t.Logf("calls of one life: %v", sound.made)
	for _, plan := range s.tryAll(t, told, ends) {
		for kind, count := range sound.made {
			if first := (call{kind, 0}); plan.nth == 0 && count > 0 && !byChance(kind) && !plan.fired[first] {
				t.Errorf("%s of the first %s was never met", plan.way(first), kind)
			}
		}
	}
}

// tryAll has a life for each n, or where all is asked for one for each n and each way in which the first call fails.
func (s stage) tryAll(t *testing.T, told story, ends []string) []*plan {
	t.Helper()
	var group sync.WaitGroup
	var plans []*plan
	for nth := range worlds {
		firsts := []int{nth}
		if os.Getenv("E2E_CRASHES") == "all" {
			firsts = []int{0, 1, 2, 3}
		}
		for _, first := range firsts {
			name := fmt.Sprintf("%s-%d-%d", told.name, nth, first)
			plans = append(plans, s.expect(name, &plan{faulty: true, nth: nth, first: first}))
			group.Go(func() {
				s.free <- struct{}{}
				defer func() { <-s.free }()
				if err := s.live(t, told, name,
					func(step int, w *world) error { return endsAs(t.Context(), w, ends[step]) }); err != nil {
					t.Errorf("faults of calls no. %d, %s first: %v", nth+1, ways[first], err)
				}
			})
		}
	}
	group.Wait()
	return plans
}

// expect arranges for what a plan says of a namespace.
func (i injector) expect(namespace string, what *plan) *plan {
	i.mu.Lock()
	defer i.mu.Unlock()
	what.made, what.fired = map[string]int{}, map[call]bool{}
	i.plans[namespace] = what
	return what
}

// newStage returns a stage whose client reads from a cache: many worlds are looked at all the time.
func newStage(t *testing.T, config *rest.Config, faulty injector) stage {
	t.Helper()
	objects, err := cache.New(config, cache.Options{Scheme: controller.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := objects.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(config, client.Options{
		Scheme: controller.Scheme(), Cache: &client.CacheOptions{Reader: objects, Unstructured: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := &births{seen: map[string][]types.UID{}}
	pods, err := objects.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.AddEventHandler(counted); err != nil {
		t.Fatal(err)
	}
	return stage{faulty, c, counted, make(chan struct{}, side)}
}

// live leads a set through a story in a namespace of its own, with a judgement at the end of each step.
func (s stage) live(t *testing.T, told story, namespace string, judge func(step int, w *world) error) error {
	ctx := t.Context()
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	w := &world{s.client, namespace, fixture.Set(t, told.manifest), s.births}
	w.set.Namespace = namespace
	for i, step := range told.steps {
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

// runOperator runs all controllers, with a client whose calls fail as planned.
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
		Controller: managerstart.Controllers(),
	})
	if err != nil {
		t.Fatal(err)
	}
	operator := &groveconfigv1alpha1.OperatorConfiguration{}
	configuration.SetDefaults(operator)
	// Many worlds side by side make more requests than an operator does.
	syncs := int32(side)
	operator.RuntimeClientConnection.QPS, operator.RuntimeClientConnection.Burst = config.QPS, int32(config.Burst)
	controllers := &operator.Controllers
	controllers.PodCliqueSet.ConcurrentSyncs, controllers.PodCliqueScalingGroup.ConcurrentSyncs = &syncs, &syncs
	controllers.PodClique.ConcurrentSyncs, controllers.PodGang.ConcurrentSyncs = &syncs, &syncs
	if err := controller.Add(t.Context(), mgr, operator); err != nil {
		t.Fatal(err)
	}
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
