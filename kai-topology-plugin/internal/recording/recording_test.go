package recording_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/recording"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// beginning is a cluster of two nodes, with a gang that stays on one of them, one that waits, and a pod that is over.
func beginning() *inventory.Inventory {
	cluster := inventory.New()
	cluster.Topologies["net"] = &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	for _, name := range []string{"n0", "n1"} {
		cluster.Nodes = append(cluster.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, name := range []string{"stands", "idle"} {
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		cluster.PodGroups = append(cluster.PodGroups, podGroup)
	}
	cluster.Pods = []*corev1.Pod{pod("settled", "n0"), pod("waits", ""), pod("over", "n1")}
	cluster.Pods[0].Annotations = map[string]string{scheduling.AnnotationPodGroupName: "stands"}
	cluster.Pods[1].Annotations = map[string]string{scheduling.AnnotationPodGroupName: "idle"}
	cluster.Pods[2].Status.Phase = corev1.PodSucceeded
	return cluster
}

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
}

// told is a cluster in words: gangs, pods with their nodes, nodes that are not ready.
func told(cluster *inventory.Inventory) map[string]string {
	words := map[string]string{}
	for _, podGroup := range cluster.PodGroups {
		words["gang "+podGroup.Name] = "there"
	}
	for _, pod := range cluster.Pods {
		words["pod "+pod.Name] = "on " + pod.Spec.NodeName
	}
	for _, node := range cluster.Nodes {
		words["node "+node.Name] = fmt.Sprint("ready ", occupancy.Ready(node))
	}
	return words
}

// Whatever happens, each moment is shown as it was recorded, in whatever order the moments are asked for.
func TestEachMomentIsAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written bytes.Buffer
		writer, err := recording.NewWriter(&written, beginning())
		if err != nil {
			t.Fatal(err)
		}
		first := map[string]string{"gang stands": "there", "pod settled": "on n0", "node n0": "ready true",
			"node n1": "ready true"}
		want, moments := []map[string]string{first}, []float64{0}
		gangs := map[gang.Key]recording.Gang{}
		for step := range rapid.IntRange(0, 12).Draw(t, "steps") {
			state := recording.State{Gangs: gangs, Down: map[string]bool{}}
			if rapid.Bool().Draw(t, "down") {
				state.Down["n0"] = true
			}
			if rapid.Bool().Draw(t, "arrives") {
				name := fmt.Sprintf("g%d", step)
				podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
				gangs[gang.KeyOfPodGroup(podGroup)] = recording.Gang{
					PodGroup: podGroup, Pods: []*corev1.Pod{pod(name+"-0", ""), pod(name+"-1", "")},
				}
			}
			seen := map[string]string{"gang stands": "there", "pod settled": "on n0", "node n0": "ready true",
				"node n1": "ready true"}
			if state.Down["n0"] {
				delete(seen, "pod settled")
				seen["node n0"] = "ready false"
			}
			for key, one := range gangs {
				if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
					delete(gangs, key)
					continue
				}
				seen["gang "+key.Name] = "there"
				for _, pod := range one.Pods {
					pod.Spec.NodeName = rapid.SampledFrom([]string{"", "n1"}).Draw(t, "node")
					seen["pod "+pod.Name] = "on " + pod.Spec.NodeName
				}
			}
			if err := writer.Write(float64(step), state); err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(want[len(want)-1], seen) {
				want, moments = append(want, seen), append(moments, float64(step))
			}
		}
		read, err := recording.Read(&written)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(moments, read.Moments()); diff != "" {
			t.Fatalf("moments (-want +got):\n%s", diff)
		}
		for range 3 {
			place := rapid.IntRange(0, len(want)-1).Draw(t, "place")
			cluster, err := read.At(place)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[place], told(cluster)); diff != "" {
				t.Fatalf("moment %d (-want +got):\n%s", place, diff)
			}
		}
	})
}

func TestWhatIsNoRecording(t *testing.T) {
	const cluster = `{"cluster": {"nodes": [], "topologies": [], "pods": []}}` + "\n"
	for text, want := range map[string]string{
		"":                                      "the recording is empty",
		"nodes: []":                             "line 1: ",
		`{"at": 1}`:                             "line 1: the first line of a recording has a cluster",
		cluster + cluster:                       "line 2: the first line of a recording has a cluster",
		cluster + "{}":                          "line 2: the first line of a recording has a cluster",
		cluster + `{"at": 2}{"at": 1}`:          "line 3: at: second 1 comes after second 2",
		cluster + `{"at": 2, "over": [1]}`:      "line 2: ",
		cluster + `{"at": 2, "arrivals": [{}]}`: "line 2: arrivals: a gang has no podGroup",
		cluster +
			`{"at": 2, "arrivals": [{"podGroup": {}, "pods": [null]}]}`: "line 2: arrivals: a gang has a pod that is null",
		`{"cluster": {"nodes": [null]}}`: "line 1: cluster: ",
	} {
		if _, err := recording.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	read, err := recording.Read(strings.NewReader(cluster + `{"at": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []int{-1, 2} {
		if _, err := read.At(place); err == nil || !strings.Contains(err.Error(), "there are moments 0 to 1") {
			t.Errorf("moment %d: %v", place, err)
		}
	}
}
