package admission_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	"packtree.dev/dynamo-operator/internal/conversion"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Every field, also one that is added later, has any value, and often one that conversion distinguishes. Among so many
// fields a lost one would go unnoticed otherwise.
func TestEveryFieldOfV1Alpha1SurvivesTheWayThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := throughJSON(t, filled[v1alpha1.DynamoGraphDeployment](t))
		hub, after := &v1beta1.DynamoGraphDeployment{}, &v1alpha1.DynamoGraphDeployment{}
		mustConvert(t, conversion.ToHub(before, hub))
		mustConvert(t, conversion.FromHub(throughJSON(t, hub), after))
		require.Empty(t, cmp.Diff(asJSON(t, before), asJSON(t, after)), "lost on the way (-before +after)")
	})
}

func TestEveryFieldOfV1Beta1SurvivesTheWayThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := throughJSON(t, filled[v1beta1.DynamoGraphDeployment](t))
		spoke, after := &v1alpha1.DynamoGraphDeployment{}, &v1beta1.DynamoGraphDeployment{}
		mustConvert(t, conversion.FromHub(before, spoke))
		mustConvert(t, conversion.ToHub(throughJSON(t, spoke), after))
		require.Empty(t, cmp.Diff(asJSON(t, before), asJSON(t, after)), "lost on the way (-before +after)")
	})
}

// words are values of strings that conversion distinguishes.
var words = []string{"", "a", v1beta1.MainContainer, "prefill", "cpu", "1", "16Gi"}

// filled is an object with any value in any field, but with unique names in a list by name.
func filled[T any](t *rapid.T) *T {
	object := new(T)
	filler := randfill.NewWithSeed(rapid.Int64().Draw(t, "seed")).NilChance(0.5).NumElements(0, 2).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "500m", "16Gi"}[c.Intn(4)])
		},
		func(value *intstr.IntOrString, c randfill.Continue) { *value = intstr.FromInt32(c.Int31()) },
		func(value *metav1.Time, c randfill.Continue) { *value = metav1.Unix(int64(c.Int31()), 0) },
		func(value *string, c randfill.Continue) {
			if at := c.Intn(2 * len(words)); at < len(words) {
				*value = words[at]
			} else {
				*value = c.String(10)
			}
		},
		func(value *runtime.RawExtension, c randfill.Continue) {
			value.Raw = fmt.Appendf(nil, `{"%d":[true,null,"<%d>"],"enabled":%v}`, c.Int31(), c.Int31(), c.Bool())
		},
		func(*metav1.TypeMeta, randfill.Continue) {}, // Set by the API server.
		func(meta *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(meta)
			meta.ManagedFields = nil
		},
		func(services *v1alpha1.Services, c randfill.Continue) {
			*services = make(v1alpha1.Services, c.Intn(3))
			for i := range *services {
				service := &(*services)[i]
				c.Fill(service)
				service.Name = fmt.Sprintf("Service%d", i)
				service.ComponentType = []string{service.ComponentType, "worker"}[c.Intn(2)]
				service.SubComponentType = []string{service.SubComponentType, "prefill", "decode"}[c.Intn(3)]
			}
		},
		func(spec *v1beta1.DynamoGraphDeploymentSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.Components = make([]v1beta1.ComponentSpec, c.Intn(3))
			for i := range spec.Components {
				component := &spec.Components[i]
				c.Fill(component)
				component.Name = fmt.Sprintf("Component%d", i)
				component.Type = []string{component.Type, "worker", "decode"}[c.Intn(3)]
				if c.Bool() {
					part := []string{"prefill", "encode"}[c.Intn(2)]
					component.PodTemplate.Labels = map[string]string{v1beta1.LabelSubComponentType: part}
				}
				component.FrontendSidecar = []*string{component.FrontendSidecar,
					new(v1beta1.FrontendSidecarContainer)}[c.Intn(2)]
			}
		},
		// A value that the status has in two places is the same in both: only the operator writes it.
		func(status *v1beta1.DynamoGraphDeploymentStatus, c randfill.Continue) {
			c.FillNoCustom(status)
			status.Components = v1beta1.ComponentsOf(status.Services)
		},
		func(container *corev1.Container, c randfill.Continue) {
			c.FillNoCustom(container)
			container.Name = []string{container.Name, v1beta1.MainContainer, v1beta1.FrontendSidecarContainer,
				""}[c.Intn(4)]
		},
	)
	filler.Fill(object)
	return object
}
