package grove_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func TestPodCliqueSet(t *testing.T) {
	single := v1beta1.ComponentSpec{Name: "Frontend"}                                           // 8
	multi := v1beta1.ComponentSpec{Name: "Worker", Multinode: &v1beta1.Multinode{NodeCount: 2}} // 6 + 10
	for name, c := range map[string]struct {
		deployment string
		components []v1beta1.ComponentSpec
		want       string
	}{
		"short enough": {"llama", []v1beta1.ComponentSpec{single, multi}, "llama"},
		"exactly what a clique leaves": {strings.Repeat("a", 37), []v1beta1.ComponentSpec{single},
			strings.Repeat("a", 37)},
		"exactly what a group leaves": {strings.Repeat("a", 29), []v1beta1.ComponentSpec{single, multi},
			strings.Repeat("a", 29)},
		"one more, and a hash ends it": {strings.Repeat("a", 30), []v1beta1.ComponentSpec{single, multi},
			strings.Repeat("a", 22) + "-c0ffee"},
		"no dash is left before the hash": {strings.Repeat("a", 21) + "-" + strings.Repeat("b", 20),
			[]v1beta1.ComponentSpec{multi}, strings.Repeat("a", 21) + "-c0ffee"},
		"a beginning alike, an end unlike": {strings.Repeat("a", 30) + "z", []v1beta1.ComponentSpec{multi},
			strings.Repeat("a", 22) + "-c0ffee"},
	} {
		t.Run(name, func(t *testing.T) {
			got := names.PodCliqueSet(&v1beta1.DynamoGraphDeployment{
				ObjectMeta: metav1.ObjectMeta{Name: c.deployment},
				Spec:       v1beta1.DynamoGraphDeploymentSpec{Components: c.components},
			})
			start, hashed := strings.CutSuffix(c.want, "-c0ffee")
			if !hashed && got != c.want || hashed && (!strings.HasPrefix(got, start+"-") || len(got) != len(c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestIsGang(t *testing.T) {
	deployment := &v1beta1.DynamoGraphDeployment{ObjectMeta: metav1.ObjectMeta{Name: "llama.2"},
		Spec: v1beta1.DynamoGraphDeploymentSpec{
			Components: []v1beta1.ComponentSpec{{Name: "Frontend"},
				{Name: "Worker", Multinode: &v1beta1.Multinode{NodeCount: 2}}},
		}}
	for name, want := range map[string]bool{
		"llama-2-0": true, "llama-2-0-worker-0": true, "llama-2-0-worker-12": true,
		"llama-2-1": false, "llama-2": false, "llama.2-0": false, "llama-2-0-frontend-0": false,
		"llama-2-0-worker-x": false,
		"llama-2-0-0":        false, "": false,
	} {
		assert.Equal(t, want, names.IsGang(deployment, name), name)
	}
}

func TestShortenedNamesStayApart(t *testing.T) {
	one, two := names.Shortened(strings.Repeat("a", 70)+"1", 63), names.Shortened(strings.Repeat("a", 70)+"2", 63)
	assert.NotEqual(t, two, one)
	require.Len(t, one, 63)
	assert.Len(t, two, 63)
	assert.Equal(t, one, names.Shortened(strings.Repeat("a", 70)+"1", 63))
}
