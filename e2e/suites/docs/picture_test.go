package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawing is the picture of concepts.md: where the scheduler puts an example in an empty cluster.
const drawing = "docs/images/where-it-stands.svg"

// shown is a host in the picture with the group on it.
var shown = regexp.MustCompile(`<title>([^:<]+): ([^<]+)</title>`)

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
	require.NoError(t, json.Unmarshal([]byte(answer), &decided))
	want, drawn := map[string]string{}, map[string]string{}
	for _, podGroup := range decided.PodGroups {
		for pod, node := range podGroup.Assignments {
			want[node] = role(pod)
		}
	}
	content, err := os.ReadFile(filepath.Join(root, drawing))
	require.NoError(t, err)
	for _, host := range shown.FindAllStringSubmatch(string(content), -1) {
		drawn[host[1]] = host[2]
	}
	assert.Empty(t, cmp.Diff(want, drawn),
		"%s shows another placement than the scheduler's (-scheduler +picture)", drawing)
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
