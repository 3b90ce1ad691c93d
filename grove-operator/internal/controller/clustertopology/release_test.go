package clustertopology_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/clustertopology"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

const (
	// requestTime is the longest time that a writer's request takes after its admission, which the API server enforces.
	requestTime = time.Second
	// settled is requestTime, the second that a deletionTimestamp may lack, and reserve for a busy machine.
	settled = 4 * time.Second
	writers = 8
	// written is how long they write at least, and longest at most, until all that matters has happened.
	written, longest = 12 * time.Second, 4 * time.Minute
)

// Writers create and delete topologies and the sets that use them, in random order. A set is created some time after
// its admission, so that a topology is often deleted in between.
func TestAUsedTopologyIsNeverGone(t *testing.T) {
	server := apiServer(t)
	keepTopologies(t, server)
	config := rest.CopyConfig(server)
	config.Timeout, config.QPS = requestTime, -1
	world := &world{t: t, existed: map[string]bool{}}
	var err error
	if world.writer, err = client.New(config, client.Options{Scheme: controller.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if world.Client, err = client.New(server, client.Options{Scheme: controller.Scheme()}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var writing, checking sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for step := 0; !t.Failed() && world.goesOn(time.Since(began)); step++ {
				world.act(fmt.Sprintf("s-%d-%d", i, step))
			}
		})
	}
	ended, end := context.WithCancel(t.Context())
	checking.Go(func() {
		for ended.Err() == nil && !t.Failed() {
			world.check()
			// A set without its topology stays so, and checks without a pause would slow the writers down.
			time.Sleep(100 * time.Millisecond)
		}
	})
	writing.Wait()
	time.Sleep(settled)
	end()
	checking.Wait()
	t.Logf("%d topologies created, %d deleted, %d gone; %d sets created, %d refused, %d deleted",
		world.made.Load(), world.leaving.Load(), world.vanished.Load(), world.sets.Load(), world.refused.Load(),
		world.left.Load())
	for _, what := range world.unseen() {
		t.Errorf("no %s: the test has looked at nothing", what)
	}
}

// keepTopologies runs only the controller of ClusterTopologies.
func keepTopologies(t *testing.T, config *rest.Config) {
	t.Helper()
	controllers := managerstart.Controllers()
	controllers.SkipNameValidation = new(true)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Controller: controllers,
		Scheme:     controller.Scheme(), Cache: controller.Cache(), Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(2 * time.Minute),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, lookup.AddIndexes(ctx, mgr.GetFieldIndexer()))
	bindings, err := installation.Await(mgr,
		grovev1alpha1.GroupVersion.WithKind(grovev1alpha1.KindClusterTopologyBinding))
	require.NoError(t, err)
	reconciler := &clustertopology.Reconciler{
		Client: mgr.GetClient(), Writer: controller.Writer(mgr.GetClient(), mgr.GetAPIReader()),
		Configuration: groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{
			Enabled: true, Levels: []groveconfigv1alpha1.TopologyLevel{{Domain: "zone", Key: "example.com/zone"}},
		},
		Bindings: bindings, Clock: clock.RealClock{}, AdmissionTime: settled,
	}
	require.NoError(t, reconciler.SetupWithManager(mgr))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	require.True(t, mgr.GetCache().WaitForCacheSync(ctx), "the caches are not filled")
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended, "the controller ended")
	})
}

// world is an API server in which topologies are created and deleted.
type world struct {
	client.Client
	// writer has a timeout of requestTime, as has the API server.
	writer client.Client
	t      *testing.T
	// existed is which topologies the last check found.
	existed map[string]bool
	// made, leaving and vanished count topologies; sets and left count sets that were created and deleted, refused
	// counts refusals.
	made, leaving, vanished, sets, left, refused atomic.Int32
}

// unseen is what has not happened yet.
func (w *world) unseen() []string {
	var missing []string
	for what, count := range map[string]*atomic.Int32{
		"set created": &w.sets, "set deleted": &w.left, "topology deleted": &w.leaving, "topology gone": &w.vanished,
		"set refused because its topology goes": &w.refused,
	} {
		if count.Load() == 0 {
			missing = append(missing, what)
		}
	}
	return missing
}

// goesOn reports whether there is more to write after some time: a busy machine does little in each second.
func (w *world) goesOn(after time.Duration) bool {
	return after < written || after < longest && len(w.unseen()) > 0
}

func anyTopology() *grovev1alpha1.ClusterTopology {
	return fixture.Topology(fmt.Sprintf("t%d", rand.IntN(3)), "zone")
}

// act does one of a user's actions.
func (w *world) act(name string) {
	ctx := context.Background()
	switch rand.IntN(8) {
	case 0, 1:
		held := anyTopology() // As the webhook makes it.
		held.Finalizers = []string{grovev1alpha1.FinalizerClusterTopology}
		if w.writer.Create(ctx, held) == nil {
			w.made.Add(1)
		}
	case 2:
		if w.writer.Delete(ctx, anyTopology()) == nil {
			w.leaving.Add(1)
		}
	case 3, 4:
		w.create(ctx, name)
	default:
		var list grovev1alpha1.PodCliqueSetList
		if w.List(ctx, &list) == nil && len(list.Items) > 0 {
			if w.writer.Delete(ctx, &list.Items[rand.IntN(len(list.Items))]) == nil {
				w.left.Add(1)
			}
		}
	}
	time.Sleep(rand.N(150 * time.Millisecond))
}

// create does what the API server does: it validates the set, and stores it some time later, or gives it up where that
// takes longer than a request may.
func (w *world) create(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	chosen := anyTopology()
	set := fixture.Set(
		w.t, "metadata: {name: "+name+"}\nspec: {replicas: 1, template: {clusterTopologyName: "+chosen.Name+
			", topologyConstraint: {packDomain: zone}, cliques: [{name: a, spec: {podSpec: {}}}]}}")
	var going bool
	_, errs := admission.ValidateCreate(set,
		admission.Cluster{TopologyAware: true, Lookup: func(name string) *topology.Topology {
			found := &grovev1alpha1.ClusterTopology{}
			if w.Get(ctx, client.ObjectKey{Name: name}, found) != nil {
				return nil
			}
			going = found.DeletionTimestamp != nil
			return topology.Of(found)
		}})
	if len(errs) > 0 {
		if going {
			w.refused.Add(1)
		}
		return
	}
	time.Sleep(rand.N(requestTime / 2))
	if w.writer.Create(ctx, set) == nil {
		w.sets.Add(1)
	}
}

// check finds sets without their topology, if the sets existed before and after the topology was read.
func (w *world) check() {
	ctx := context.Background()
	var list grovev1alpha1.PodCliqueSetList
	if err := w.List(ctx, &list); err != nil {
		w.t.Errorf("listing sets: %v", err)
		return
	}
	seen := map[string]bool{}
	for i := range 3 {
		name := fmt.Sprintf("t%d", i)
		err := w.Get(ctx, client.ObjectKey{Name: name}, &grovev1alpha1.ClusterTopology{})
		seen[name] = err == nil
		if client.IgnoreNotFound(err) != nil {
			w.t.Errorf("reading topology %s: %v", name, err)
			return
		}
		if w.existed[name] && !seen[name] {
			w.vanished.Add(1)
		}
		w.existed[name] = seen[name]
	}
	for i := range list.Items {
		set := &list.Items[i]
		if seen[topology.NameFor(set)] {
			continue
		}
		after := &grovev1alpha1.PodCliqueSet{}
		if w.Get(ctx, client.ObjectKeyFromObject(set), after) == nil && after.UID == set.UID {
			w.t.Errorf("set %s is there, and its topology %s is not", set.Name, topology.NameFor(set))
		}
	}
}
