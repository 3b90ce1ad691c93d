package replacement_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/replacement"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// BenchmarkAnswers answers questions of 1 and 20 of 300 gangs on 5,000 nodes of eight devices, 16 to a rack. A gang of
// 15 pods has all devices of its rack but those of one node. The successor of one pod asks for as much, and for more
// than any node has. The copy of the cluster has followed everything but one pod.
func BenchmarkAnswers(b *testing.B) {
	const size, perRack, gangs = 5000, 16, 300
	var text strings.Builder
	text.WriteString(topology)
	for i := range size {
		text.WriteString(nodes(8, fmt.Sprintf("r%d-%d", i/perRack, i%perRack)))
	}
	for i := range gangs {
		name, on := fmt.Sprintf("g%d", i), []string{}
		for j := range perRack - 1 {
			on = append(on, fmt.Sprintf("r%d-%d", i, j))
		}
		text.WriteString(podGroup(name, fmt.Sprintf("minMember: %d, %s", len(on), oneRack)))
		text.WriteString(pods(name, "", 8, "", on...))
	}
	cluster := read(b, text.String())
	var copied turns.Copy
	none := func(gang.Key, int32) clusterview.Reserved { return nil }
	for _, gpus := range []int{8, 9} {
		for _, count := range []int{1, 20} {
			b.Run(fmt.Sprintf("questions=%d/devices=%d", count, gpus), func(b *testing.B) {
				var asked []replacement.Asked
				for i := range count {
					name := fmt.Sprintf("g%d", i)
					asked = append(asked, question(b, name, false, ask(b, name, "", gpus, "", 0)))
				}
				for b.Loop() {
					last := &cluster.Pods[len(cluster.Pods)-1]
					*last = (*last).DeepCopy()
					err := copied.On(b.Context(), cluster, func(table *turns.Table) error {
						answers, err := replacement.Answers(b.Context(), table, none, asked)
						if err == nil && (answers[0].Fits == metav1.ConditionTrue) != (gpus == 8) {
							b.Fatal(answers[0])
						}
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
