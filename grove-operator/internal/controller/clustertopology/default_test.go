package clustertopology_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/controller"
)

const name = grovev1alpha1.DefaultClusterTopologyName

// cluster is an API server in which no set uses the default topology.
type cluster struct {
	client.Client
	t *testing.T
}

func (c cluster) topology() *grovev1alpha1.ClusterTopology {
	made := &grovev1alpha1.ClusterTopology{}
	err := c.Get(c.t.Context(), client.ObjectKey{Name: name}, made)
	require.NoError(c.t, client.IgnoreNotFound(err))
	return made
}

func (c cluster) ofScheduler() *kaiv1alpha1.Topology {
	made := &kaiv1alpha1.Topology{}
	err := c.Get(c.t.Context(), client.ObjectKey{Name: name}, made)
	require.NoError(c.t, client.IgnoreNotFound(err))
	return made
}

// state are both topologies as readers see them.
func (c cluster) state() string {
	ours, theirs := c.topology(), c.ofScheduler()
	keys, labels := "", ""
	for _, level := range ours.Spec.Levels {
		keys += level.Key + " "
	}
	for _, level := range theirs.Spec.Levels {
		labels += level.NodeLabel + " "
	}
	return fmt.Sprintf("%s(%s) / %s(%s)", keys, ours.Labels[grovev1alpha1.LabelManagedBy], labels,
		theirs.Labels[grovev1alpha1.LabelManagedBy])
}

// until waits for a state, on however slow a machine.
func (c cluster) until(what string, reached func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(c.t.Context(), 50*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) { return reached(), nil })
	require.NoError(c.t, err,
		"%s: %v; the topologies are %s, conditions %v", what, err, c.state(), c.topology().Status.Conditions)
}

func (c cluster) must(err error) {
	c.t.Helper()
	require.NoError(c.t, err)
}

// TestTheDefaultTopologyIsKept makes an administrator's mistakes, one after the other.
func TestTheDefaultTopologyIsKept(t *testing.T) {
	config := apiServer(t)
	made, err := client.New(config, client.Options{Scheme: controller.Scheme()})
	require.NoError(t, err)
	c := cluster{Client: made, t: t}

	// A Topology of another owner has the name before the operator starts.
	foreign := &kaiv1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	foreign.Spec.Levels = []kaiv1alpha1.TopologyLevel{{NodeLabel: "theirs"}}
	c.must(c.Create(t.Context(), foreign))
	run(t, config, &groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{Enabled: true,
		Levels: []groveconfigv1alpha1.TopologyLevel{
			{Domain: "host", Key: "kubernetes.io/hostname"}, {Domain: "rack", Key: "example.com/rack"},
		}})
	c.until("it reports the Topology of another owner", func() bool {
		ready := meta.FindStatusCondition(c.topology().Status.Conditions, grovev1alpha1.ClusterTopologyReady)
		return ready != nil && ready.Reason == grovev1alpha1.ReasonSchedulerTopologyForeign
	})
	after := c.ofScheduler()
	assert.Equal(t, foreign.ResourceVersion, after.ResourceVersion,
		"it changed the Topology of another owner: %v", after)
	c.must(c.Delete(t.Context(), foreign))
	const want = "example.com/rack kubernetes.io/hostname (grove-operator) / example.com/rack kubernetes.io/hostname " +
		"(grove-operator)"
	c.until("it makes its own when the name is free", func() bool { return c.state() == want })

	kept := c.ofScheduler().UID
	for _, step := range []struct {
		what string
		do   func() client.Object
	}{
		{"levels are put back", func() client.Object {
			return c.patch(c.topology(), `{"spec":{"levels":[{"domain":"zone","key":"example.com/zone"}]}}`)
		}},
		{"the label is put back", func() client.Object {
			return c.patch(c.topology(), `{"metadata":{"labels":{"`+grovev1alpha1.LabelManagedBy+`":"me"}}}`)
		}},
		{"the label of the scheduler's Topology is put back", func() client.Object {
			return c.patch(c.ofScheduler(), `{"metadata":{"labels":{"`+grovev1alpha1.LabelManagedBy+`":null}}}`)
		}},
	} {
		changed := step.do()
		c.until(step.what, func() bool {
			now := changed.DeepCopyObject().(client.Object)
			c.must(c.Get(t.Context(), client.ObjectKeyFromObject(changed), now))
			return c.state() == want && now.GetResourceVersion() != changed.GetResourceVersion()
		})
	}
	assert.Equal(t, c.ofScheduler().UID, kept,
		"the scheduler was given levels that a user wrote into the default topology")
	for what, leaving := range map[string]client.Object{"the ClusterTopology": c.topology(),
		"the scheduler's Topology": c.ofScheduler()} {
		c.must(client.IgnoreNotFound(c.Delete(t.Context(), leaving)))
		c.until(what+" is made anew", func() bool {
			ours, theirs := c.topology(), c.ofScheduler()
			return ours.UID != leaving.GetUID() && theirs.UID != leaving.GetUID() &&
				metav1.IsControlledBy(theirs, ours) &&
				c.state() == want
		})
	}
}

// patch changes an object, and returns its new state.
func (c cluster) patch(object client.Object, change string) client.Object {
	c.t.Helper()
	c.must(c.Patch(c.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(change))))
	return object
}

// run runs the operator until the test ends.
func run(
	t *testing.T, config *rest.Config, levels *groveconfigv1alpha1.TopologyAwareSchedulingConfiguration,
) {
	t.Helper()
	operator := &groveconfigv1alpha1.OperatorConfiguration{}
	configuration.SetDefaults(operator)
	operator.TopologyAwareScheduling = *levels
	controllers := managerstart.Controllers()
	controllers.SkipNameValidation = new(true)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: controller.Scheme(), Cache: controller.Cache(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: controllers, GracefulShutdownTimeout: new(2 * time.Minute),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, controller.Add(ctx, mgr, operator))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended, "the operator ended")
	})
}
