package kubectlpacktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// recordedGang has a gang that waits at second 5, since it asks for more than the node has, and is over at second 9.
const recordedGang = `{"cluster":{"nodes":[{"metadata":{"name":"n","labels":{"example.com/rack":"r"}},"status":{"allocatable":{"nvidia.com/gpu":"8","pods":"9"}}}],
 "topologies":[{"metadata":{"name":"racks"},"spec":{"levels":[{"nodeLabel":"example.com/rack"}]}}],"pods":[]}}
{"at":5,"arrivals":[{"podGroup":{"metadata":{"namespace":"d","name":"g","uid":"g","creationTimestamp":"1970-01-01T00:00:05Z"},
 "spec":{"minMember":1,"topologyConstraint":{"topology":"racks","requiredTopologyLevel":"example.com/rack"}}},
 "pods":[{"metadata":{"namespace":"d","name":"p","uid":"p","annotations":{"pod-group-name":"g"}},
  "spec":{"containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"9"}}}]}}]}]}
{"at":9,"over":["d/g"]}
`

func TestQuestionsAboutARecordingAreAboutAMoment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(file, []byte(recordedGang), 0o600); err != nil {
		t.Fatal(err)
	}
	line, err := readTimeline(file, overview.Question{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := line.overview(t.Context(), 0)
	if err != nil || !slices.Equal(first.Moments, []float64{0, 5, 9}) || len(first.Gangs) != 0 {
		t.Fatalf("%+v, error %v", first, err)
	}
	ask := func(what, query string) (any, error) {
		asked, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		return line.answers()[what](t.Context(), asked)
	}
	for query, gangs := range map[string]int{"moment=0": 0, "moment=1": 1, "moment=2": 0} {
		said, err := ask("moment", query)
		if err != nil {
			t.Fatal(err)
		}
		if seen := said.(*overview.Overview); len(seen.Gangs) != gangs || (seen.Moments != nil) != (query == "moment=0") {
			t.Errorf("%s: %d gangs, moments %v", query, len(seen.Gangs), seen.Moments)
		}
	}
	said, err := ask("explain", "moment=1&namespace=d&name=g")
	if err != nil {
		t.Fatal(err)
	}
	if g := said.(*explanation.Gang); g.Decision == nil || g.Decision.Verdict != "Infeasible" {
		content, _ := json.Marshal(g)
		t.Errorf("the gang is %s", content)
	}
	asked, err := ask("repairability", "moment=1")
	if err != nil || len(asked.(*repairabilityReport).Failures) != 2 {
		t.Errorf("what failures would do: %+v, error %v", asked, err)
	}
	if _, err := ask("repairability", "moment=3"); err == nil {
		t.Error("failures are foretold at a moment that is not there")
	}
	for query, want := range map[string]string{
		"moment=2&namespace=d&name=g": "g", "moment=3": "there are moments 0 to 2", "moment=x": `"x" is no number of a moment`, "": `"" is no number`,
	} {
		if said, err := ask("explain", query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, error %v, want %s", query, said, err, want)
		}
	}
	for _, query := range []string{"moment=-1", "moment=3", "moment=1.5"} {
		if said, err := ask("moment", query); err == nil {
			t.Errorf("%s: %v", query, said)
		}
	}
}

func TestARecordingIsShownByItself(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"takes no -f":                     {"--recording", empty, "-f", dump},
		"the recording is empty":          {"--recording", empty},
		"simulate -o recording makes one": {"--recording", empty, "--export", "-"},
		"--recording: open":               {"--recording", empty + "x"},
	} {
		if _, _, err := run(t, append([]string{"view", "--no-browser"}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", args, err, want)
		}
	}
}

// A page of a recording has what the server of it would answer, moment by moment.
func TestAnExportOfARecordingHasAllMoments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(file, []byte(recordedGang), 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if _, _, err := run(t, "view", "--recording", file, "--export", page); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"moments":[0,5,9]`, ` id="moments">`, `data-taken="of a recording, made into a page `} {
		if !strings.Contains(string(content), part) {
			t.Errorf("the page has no %s", part)
		}
	}
	line, err := readTimeline(file, overview.Question{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	var decided []string
	decide := func(_ context.Context, cluster *inventory.Inventory, seen *overview.Overview, left int) error {
		decided = append(decided, fmt.Sprint(left, " ", len(cluster.PodGroups), " ", len(seen.Gangs)))
		return nil
	}
	first, moments, err := line.all(t.Context(), decide, func(of int) { told += of })
	if err != nil || !strings.HasPrefix(string(first), "{") || told != 9 || moments == nil {
		t.Errorf("told %d, error %v, first %.40s", told, err, first)
	}
	if want := []string{"3 0 0", "2 1 1", "1 0 0"}; !slices.Equal(decided, want) {
		t.Errorf("decided %q, want %q", decided, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := line.all(ended, decide, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("once nobody waits for it: %v", err)
	}
}
