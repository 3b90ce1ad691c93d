package simulate_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/recording"
	"packtree.dev/kai-topology-plugin/internal/simulate"
)

// recorded simulates a stream, and returns what was recorded besides the samples of the result.
func recorded(t testing.TB, on *inventory.Inventory, lines string, until float64) (*recording.Recording, []simulate.Sample) {
	t.Helper()
	stream, err := simulate.Read("jobs", strings.NewReader(lines), on)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	writer, err := recording.NewWriter(&written, on)
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulate.Run(t.Context(), on, stream, simulate.Options{Until: &until, Record: writer.Write})
	if err != nil {
		t.Fatal(err)
	}
	read, err := recording.Read(&written)
	if err != nil {
		t.Fatal(err)
	}
	var samples []simulate.Sample
	for sample := range result.Series() {
		samples = append(samples, *sample)
	}
	return read, samples
}

// Whatever a stream brings, the recording shows at each moment what the result says was in use then, and nobody on a
// node that is down.
func TestARecordingShowsWhatWasInUse(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := drawn(r)
		settled := "---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: settled}, spec: {nodeName: r0-n1, ` +
			`containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "3"}}}]}}` + "\n"
		read, samples := recorded(t, cluster(t, 3, 2, settled), lines, 100)
		moments := read.Moments()
		if !slices.IsSorted(moments) || moments[0] != 0 {
			r.Fatalf("moments %v", moments)
		}
		for _, sample := range samples {
			place, _ := slices.BinarySearchFunc(moments, sample.At, func(at, asked float64) int {
				if at <= asked {
					return -1
				}
				return 1
			})
			seen, err := read.At(place - 1)
			if err != nil {
				r.Fatal(err)
			}
			if used := inUse(r, seen); used != sample.Used["example.com/gpu"] {
				r.Fatalf("second %v: %v is recorded as used, %v was\n%s", sample.At, used, sample.Used, lines)
			}
		}
	})
}

// inUse adds up what pods on nodes have.
func inUse(t *rapid.T, seen *inventory.Inventory) (total float64) {
	ready := map[string]bool{}
	for _, node := range seen.Nodes {
		ready[node.Name] = len(node.Status.Conditions) == 0
	}
	for _, pod := range seen.Pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		if !ready[pod.Spec.NodeName] {
			t.Fatalf("pod %s stands on node %s, which is down", pod.Name, pod.Spec.NodeName)
		}
		amount := pod.Spec.Containers[0].Resources.Requests["example.com/gpu"]
		total += amount.AsApproximateFloat64()
	}
	return total
}
