package podgroupstatus_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned/fake"
)

// advice is the same for every gang.
type advice podgroupstatus.Advice

func (a advice) About(gang.Key, string) podgroupstatus.Advice { return podgroupstatus.Advice(a) }
func (a advice) Forget(gang.Key)                              {}

func TestTheNodesThatAGangNeedsAreWritten(t *testing.T) {
	refused := &solve.Answer{Verdict: "Infeasible", Message: "no rack has room"}
	like := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	like.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("1Gi")}
	two := advice{Known: true, Nodes: &remedies.Nodes{
		Count: 2, Like: like, Level: "l/rack", Domain: map[string]string{"l/rack": "r1"}, Change: "add 2 nodes",
	}}
	const value = `[{"count":2,"like":"n1","resources":{"cpu":"8"},"level":"l/rack","domain":{"l/rack":"r1"}}]`
	const kept = "kept"
	for name, c := range map[string]struct {
		present string
		last    *solve.Answer
		stands  int
		marked  *bool
		advice  advice
		want    string // of the annotation: empty if it is removed
	}{
		"of one that does not fit":                       {"", refused, 0, nil, two, value},
		"not again":                                      {value, refused, 0, nil, two, kept},
		"in place of others":                             {"[]", refused, 0, nil, two, value},
		"unless they are not known yet":                  {"[]", refused, 0, nil, advice{}, kept},
		"unless no number of nodes helps":                {value, refused, 0, nil, advice{Known: true}, ""},
		"unless pods leave for it":                       {value, &solve.Answer{Verdict: "Waiting"}, 0, nil, two, ""},
		"unless nodes are not to be added":               {value, refused, 0, new(false), two, ""},
		"of one that is yet to be decided, as they were": {value, nil, 0, nil, two, kept},
		"until it is placed":                             {value, nil, 2, nil, two, ""},
		"of one that needs none, not":                    {"", nil, 2, nil, two, kept},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, c.stands, 2-c.stands)
			for _, pod := range seen.Gang.Pending {
				pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
				}}}
			}
			podGroup := seen.Gang.PodGroup
			podGroup.Spec.MarkUnschedulable = c.marked
			if c.present != "" {
				podGroup.Annotations = map[string]string{scheduling.AnnotationNodesNeeded: c.present}
			}
			seen.Last = c.last
			client := fake.NewSimpleClientset(podGroup)
			got, said := kept, ""
			client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch := action.(clienttesting.PatchAction)
				if patch.GetSubresource() == "status" {
					said = string(patch.GetPatch())
					return true, podGroup, nil
				}
				var body scheduling.PodGroup
				if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
					return true, nil, err
				}
				got = body.Annotations[scheduling.AnnotationNodesNeeded]
				return true, podGroup, nil
			})
			looks := make(chan struct{}, 100)
			observe := func(gang.Key) (podgroupstatus.Observed, error) {
				looks <- struct{}{}
				return seen, nil
			}
			run(t, client.SchedulingV2alpha2(), observe, func(writer *podgroupstatus.Writer) {
				writer.Adviser = c.advice
				writer.Enqueue(gang.Key{Name: "gang"})
				<-looks
				writer.Enqueue(gang.Key{Name: "gang"})
				<-looks // One look ends before the next one begins.
			})
			assert.Equal(t, c.want, got)
			says := slices.Contains([]string{value, kept}, got) && strings.Contains(said, "no rack has room; it would fit if you add 2 nodes")
			assert.Equal(t, c.last == refused && c.marked == nil && c.advice.Nodes != nil, says,
				"the condition says so\n%s", said)
		})
	}
}
