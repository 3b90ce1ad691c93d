package gang_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestPodsOfAnotherTopologyHoldTheirGang(t *testing.T) {
	for name, c := range map[string]struct {
		refers string
		made   []string
		onNode bool
		want   string
	}{
		"all agree": {refers: "b", made: []string{"b", "b"}},
		"a pod was made for another": {refers: "b", made: []string{"b", "a"},
			want: "pod p-1 was made for topology a while PodGroup g refers to b"},
		"a pod that says nothing":                {refers: "b", made: []string{"b", ""}},
		"a PodGroup that says nothing":           {made: []string{"b", "a"}},
		"a pod on a node does not hold the gang": {refers: "b", made: []string{"a"}, onNode: true},
	} {
		t.Run(name, func(t *testing.T) {
			podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default"}}
			one := int32(1)
			podGroup.Spec.MinMember = &one
			if c.refers != "" {
				podGroup.Annotations = map[string]string{scheduling.AnnotationPodsTopology: c.refers}
			}
			var pods []*corev1.Pod
			for i, made := range c.made {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-" + string(rune('0'+i)), Namespace: "default",
					Annotations: map[string]string{}}}
				if made != "" {
					pod.Annotations["grove.io/topology-name"] = made
				}
				if c.onNode {
					pod.Spec.NodeName = "n"
				}
				pods = append(pods, pod)
			}
			_, hold := gang.Assemble(podGroup, pods, nil)
			switch {
			case c.want == "" && hold != nil:
				t.Errorf("the gang is held: %s", hold.Message)
			case c.want != "" && (hold == nil || !strings.HasPrefix(hold.Message, c.want)):
				t.Errorf("hold %v, want %s", hold, c.want)
			}
		})
	}
}
