package grove_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestAMissingTopologyComesWithAdviceThatCanBeFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		named string
		there []client.Object
		want  string
	}{
		"the default one, which nobody else can create": {want: "the administrator has to enable topology-aware scheduling in Grove"},
		"one of a name of one's own":                    {named: "aws", want: `ClusterTopology "aws" does not exist; the administrator has to create it`},
		"one among others": {
			named: "aws", there: []client.Object{&grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: "gcp"}}},
			want: `ClusterTopology "aws" does not exist; existing ones: gcp`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := grovev1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			cluster := grove.Cluster{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.there...).Build()}
			deployment := &v1beta1.DynamoGraphDeployment{}
			deployment.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{PackDomain: "rack", ClusterTopologyName: c.named}
			if got := cluster.Topology(t.Context(), deployment).Problem; !strings.Contains(got, c.want) {
				t.Errorf("%q does not say %q", got, c.want)
			}
		})
	}
}
