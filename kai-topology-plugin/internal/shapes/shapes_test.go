package shapes_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/shapes"
)

func TestANamedShapeIsForNodesWithItsLabelsWhateverTheirTaints(t *testing.T) {
	node := func(gpu string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"gpu": gpu, "disk": "ssd"}},
			Spec:       corev1.NodeSpec{Taints: taints},
		}
	}
	asked, err := shapes.FromConfiguration([]shapes.Named{{
		Name: "n", Pods: 1, Resources: corev1.ResourceList{"cpu": resource.MustParse("1")},
		NodeSelector: map[string]string{"gpu": "y"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	tainted := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	if named := asked[0]; named.Takes(node("x")) || !named.Takes(node("y")) || !named.Takes(node("y", tainted)) {
		t.Error("it takes other nodes")
	}
}

func TestShapesInALine(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		// asks is what the last one asks for, and wrong what the error says if there is one.
		asks, wrong string
	}{
		"all that can be said": {
			lines: []string{"big=4 x nvidia.com/gpu=8,memory=64Gi,cpu=500m in one example.com/rack on gpu=x on disk=ssd"},
			asks:  "4 x cpu=500m,memory=64Gi,nvidia.com/gpu=8 in one example.com/rack on disk=ssd on gpu=x",
		},
		"as little as can be":     {lines: []string{"a=1 x cpu=1", " b = 2 x cpu=1 "}, asks: "2 x cpu=1"},
		"a label without a value": {lines: []string{"a=1 x cpu=1 on gpu="}, asks: "1 x cpu=1 on gpu="},
		"no name": {lines: []string{"4 x nvidia.com/gpu=8"},
			wrong: `"4 x nvidia.com/gpu=8" is not NAME=PODS x RESOURCE=AMOUNT`},
		"no shape":              {lines: []string{"a"}, wrong: "lacks PODS x RESOURCE=AMOUNT"},
		"no number":             {lines: []string{"a=four x cpu=1"}, wrong: `"four" is no number of pods`},
		"too many pods":         {lines: []string{"a=4294967296 x cpu=1"}, wrong: `"4294967296" is no number of pods`},
		"no pods":               {lines: []string{"a=0 x cpu=1"}, wrong: "pods: must be at least 1, not 0"},
		"no amount":             {lines: []string{"a=1 x cpu,memory=1Gi"}, wrong: `"cpu" is no RESOURCE=AMOUNT`},
		"nothing of a resource": {lines: []string{"a=1 x cpu=-1"}, wrong: "resources.cpu: must be above 0"},
		"two levels":            {lines: []string{"a=1 x cpu=1 in one rack in one zone"}, wrong: `"in one zone" is neither`},
		"half a level":          {lines: []string{"a=1 x cpu=1 in one"}, wrong: `"in one" is neither`},
		"a label alone":         {lines: []string{"a=1 x cpu=1 on gpu"}, wrong: `"on gpu" is neither`},
		"a name twice":          {lines: []string{"a=1 x cpu=1", "a=2 x cpu=1"}, wrong: "name: a is named already"},
		"a name for no metric":  {lines: []string{"A=1 x cpu=1"}, wrong: "lowercase RFC 1123 label"},
		"too many": {lines: slices.Repeat([]string{"a=1 x cpu=1"}, 17),
			wrong: "at most 16 may be named, not 17"},
	} {
		t.Run(name, func(t *testing.T) {
			named, err := shapes.Parse(c.lines)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if asks, err := named[len(named)-1].Asks(); err != nil || asks != c.asks {
				t.Errorf("asks for %q, want %q; error %v", asks, c.asks, err)
			}
			if _, err := shapes.FromConfiguration(named); err != nil {
				t.Errorf("in a configuration it is wrong: %v", err)
			}
		})
	}
}
