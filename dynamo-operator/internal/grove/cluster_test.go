package grove_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestAMissingTopologyComesWithAdviceThatCanBeFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		named string
		there []client.Object
		want  string
	}{
		"the default one, which nobody else can create": {
			want: "the administrator has to enable topology-aware scheduling in Grove",
		},
		"one of a name of one's own": {named: "aws",
			want: `ClusterTopology "aws" does not exist; the administrator has to create it`},
		"one among others": {
			named: "aws", there: []client.Object{&grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: "gcp"}}},
			want: `ClusterTopology "aws" does not exist; existing ones: gcp`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, grovev1alpha1.AddToScheme(scheme))
			cluster := grove.Cluster{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.there...).Build()}
			deployment := &v1beta1.DynamoGraphDeployment{}
			deployment.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{PackDomain: "rack",
				ClusterTopologyName: c.named}
			got, err := cluster.Topology(t.Context(), deployment)
			require.NoError(t, err)
			assert.Contains(t, got.Problem, c.want)
		})
	}
}

// TestATopologyThatCannotBeReadIsNotMissing: neither at admission nor for the pods that are made.
func TestATopologyThatCannotBeReadIsNotMissing(t *testing.T) {
	for _, slow := range []client.Object{&grovev1alpha1.ClusterTopology{}, &grovev1alpha1.ClusterTopologyBinding{}} {
		t.Run(fmt.Sprintf("%T", slow), func(t *testing.T) {
			there, backend := carriedOut(t)
			backend.Topologies = unreadable{there, slow}
			cluster := grove.Cluster{Reader: backend.Topologies}
			deployment := transferring("net", "rack")
			deployment.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{PackDomain: "rack",
				ClusterTopologyName: "net"}
			got, err := cluster.Topology(t.Context(), deployment)
			require.ErrorIs(t, err, context.DeadlineExceeded, "a constraint: %+v", got)
			standing, err := backend.Read(t.Context(), deployment)
			assert.ErrorIs(t, err, context.DeadlineExceeded, "a transfer policy: %+v", standing)
		})
	}
}

// unreadable is a reader of a cluster that does not answer for one kind.
type unreadable struct {
	client.Reader
	kind client.Object
}

func (u unreadable) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	if reflect.TypeOf(object) == reflect.TypeOf(u.kind) {
		return context.DeadlineExceeded
	}
	return u.Reader.Get(ctx, key, object, options...)
}

// carriedOut is the client of a fake cluster, and a backend that reads it.
func carriedOut(t *testing.T, there ...client.Object) (client.Client, grove.Backend) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, grovev1alpha1.AddToScheme,
		v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).Build()
	return cluster, grove.Backend{Reader: cluster, Topologies: cluster, Mapper: cluster.RESTMapper()}
}

// asked is the node label that the workers of a deployment ask for, by the existing objects.
func asked(
	t *testing.T, backend grove.Backend, deployment *v1beta1.DynamoGraphDeployment,
) (string, *grovev1alpha1.PodCliqueSet) {
	t.Helper()
	standing, err := backend.Read(t.Context(), deployment)
	require.NoError(t, err)
	set := podCliqueSet(t, objects(t)(standing.Objects(nil)))
	return set.Spec.Template.Cliques[0].Annotations["packtree.dev/node-labels"], set
}

func TestTheLevelOfTransfersIsTheTopologys(t *testing.T) {
	topology := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	topology.Spec.Levels = []grovev1alpha1.TopologyLevel{{Domain: "zone", Key: "z"},
		{Domain: "rack", Key: "example.com/rack"}}
	binding := &grovev1alpha1.ClusterTopologyBinding{ObjectMeta: metav1.ObjectMeta{Name: "free"}}
	binding.Spec.Levels = []grovev1alpha1.TopologyBindingLevel{{Domain: "spine", Key: "example.com/spine"}}
	for name, c := range map[string]struct{ topology, domain, want string }{
		"of a ClusterTopology":              {"net", "rack", "nvidia.com/dynamo-topology.rack=example.com/rack"},
		"of a ClusterTopologyBinding":       {"free", "spine", "nvidia.com/dynamo-topology.spine=example.com/spine"},
		"that it does not have":             {"net", "spine", ""},
		"of a topology that does not exist": {"none", "rack", ""},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := transferring(c.topology, c.domain)
			_, backend := carriedOut(t, topology, binding)
			got, _ := asked(t, backend, deployment)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestATopologyThatIsGoneTakesNothingFromThePods(t *testing.T) {
	topology := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	topology.Spec.Levels = []grovev1alpha1.TopologyLevel{{Domain: "rack", Key: "old"}}
	deployment := transferring("net", "rack")
	cluster, backend := carriedOut(t, topology)
	_, set := asked(t, backend, deployment)
	require.NoError(t, cluster.Create(t.Context(), set))
	topology.Spec.Levels[0].Key = "new"
	require.NoError(t, cluster.Update(t.Context(), topology))
	got, _ := asked(t, backend, deployment)
	assert.Equal(t, "nvidia.com/dynamo-topology.rack=new", got, "a level with another label")
	require.NoError(t, cluster.Delete(t.Context(), topology))
	got, _ = asked(t, backend, deployment)
	assert.Equal(t, "nvidia.com/dynamo-topology.rack=old", got, "without the topology")
}

func transferring(topology, domain string) *v1beta1.DynamoGraphDeployment {
	made := deployment([]v1beta1.ComponentSpec{{Name: "Decode", Type: "decode", PodTemplate: template()}})
	made.UID = "uid"
	made.Spec.Experimental = &v1beta1.DeploymentExperimental{
		KVTransferPolicy: &v1beta1.KVTransferPolicy{Domain: domain, ClusterTopologyName: topology},
	}
	return made
}
