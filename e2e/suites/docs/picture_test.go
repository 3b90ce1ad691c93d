package docs_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"packtree.dev/e2e/examples"
)

var update = flag.Bool("update", false, "draw the pictures of the documentation anew")

// drawing is the picture of concepts.md: where the scheduler puts an example in an empty cluster.
const drawing = "docs/images/where-it-stands.svg"

// TestPicture decides the example in the picture, and compares.
func TestPicture(t *testing.T) {
	root, _ := read(t)
	here := newReader(t, root, "/dev/null", nil)
	answer, err := here.bash(t.Context(),
		`cat docs/examples/dgd-block.yaml docs/examples/clustertopology.yaml docs/examples/nodes.yaml |
		dynamo-operator render -f - | grove-operator render -f - | podgrouper render -f - | kai-topology-plugin place -f - -o json`, "")
	if err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	var decided struct {
		PodGroups []struct{ Assignments map[string]string }
	}
	if err := json.Unmarshal([]byte(answer), &decided); err != nil {
		t.Fatal(err)
	}
	group := map[string]string{}
	for _, podGroup := range decided.PodGroups {
		for pod, node := range podGroup.Assignments {
			group[node] = role(pod)
		}
	}
	nodes, err := examples.Objects(filepath.Join(root, "docs", "examples", examples.Nodes), "")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []host
	for _, node := range nodes {
		labels := node.GetLabels()
		hosts = append(hosts, host{
			Zone: labels["topology.kubernetes.io/zone"], Block: labels["topology.packtree.dev/block"],
			Rack: labels["topology.packtree.dev/rack"],
			Name: node.GetName(), Group: group[node.GetName()],
		})
	}
	got := draw(hosts)
	if err := wellFormed(got); err != nil {
		t.Fatalf("the picture is no XML: %v", err)
	}
	if shown := strings.Count(got, ": decode worker"); shown != 8 {
		t.Errorf("two decode workers of four nodes must be seen, not %d nodes", shown)
	}
	file := filepath.Join(root, drawing)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf(
			"%s shows another placement than the scheduler's: run go test ./e2e/suites/docs -run TestPicture -update, "+
				"and look at it", drawing)
	}
}

var decodeWorker = regexp.MustCompile(`-decode-(\d+)-`)

// role is the picture's name for the group of a pod of the example. Copies of the scaling group are numbered by their
// gang.
func role(pod string) string {
	switch {
	case strings.Contains(pod, "-prefill-"):
		return "prefill"
	case strings.Contains(pod, "-frontend-"):
		return "frontend"
	}
	return "decode worker " + decodeWorker.FindStringSubmatch(pod)[1]
}

func wellFormed(document string) error {
	decoder := xml.NewDecoder(strings.NewReader(document))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
