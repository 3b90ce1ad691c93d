package simulate

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write golden files")

// Student's distribution is in every table: these are of 95 and 99 %, two-sided.
func TestStudent(t *testing.T) {
	for _, test := range []struct{ probability, freedom, want float64 }{
		{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.05, 4, 2.776}, {0.05, 9, 2.262}, {0.05, 30, 2.042}, {0.05, 1e6, 1.960},
		{0.01, 1, 63.657}, {0.01, 19, 2.861}, {0.5, 5, 0.727},
	} {
		if got := student(test.probability, test.freedom); math.Abs(got-test.want) > 1e-3 {
			t.Errorf("student(%v, %v) is %v, want %v", test.probability, test.freedom, got, test.want)
		}
	}
}

// Of intervals of 95 %, so many hold what they are about.
func TestIntervalsHoldTheTruthAsOftenAsTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	const draws = 4000
	for range draws {
		values := make([]float64, 5)
		for i := range values {
			values[i] = 7 + 3*random.NormFloat64()
		}
		if mean, half := interval(values); math.Abs(mean-7) <= *half {
			held++
		}
	}
	if share := float64(held) / draws; math.Abs(share-confidence) > 0.015 {
		t.Errorf("%v of the intervals hold the mean, want %v", share, confidence)
	}
}

func TestCompare(t *testing.T) {
	half := func(value float64) *float64 { return &value }
	for name, test := range map[string]struct {
		sides []measured
		want  Comparison
	}{
		"one stream has differences and no interval": {
			[]measured{{"a", []Metrics{{"x": 1}}}, {"b", []Metrics{{"x": 3}}}},
			Comparison{Base: "a", Streams: 1, Confidence: 0.95, Metrics: Metrics{"x": 1}, Variants: []Variant{
				{"b", []Difference{{"x", 1, 3, 2, nil}}},
			}},
		},
		// The differences are 1, 2 and 3: deviation 1, and 4.303 times 1/√3.
		"differences are taken stream by stream": {
			[]measured{{"a", []Metrics{{"x": 100}, {"x": 10}, {"x": 1}}}, {"b", []Metrics{{"x": 101}, {"x": 12}, {"x": 4}}}},
			Comparison{Base: "a", Streams: 3, Confidence: 0.95, Metrics: Metrics{"x": 37}, Variants: []Variant{
				{"b", []Difference{{"x", 37, 39, 2, half(2.484138)}}},
			}},
		},
		"what a run does not have is left out": {
			[]measured{{"a", []Metrics{{"x": 1, "y": 2, "z": 1}, {"x": 1, "z": 1}}}, {"b", []Metrics{{"x": 1, "y": 2}, {"x": 1, "y": 4}}}},
			Comparison{Base: "a", Streams: 2, Confidence: 0.95, Metrics: Metrics{"x": 1, "z": 1}, Variants: []Variant{
				{"b", []Difference{{"x", 1, 1, 0, half(0)}}},
			}},
		},
		"nothing to compare with": {
			[]measured{{"a", []Metrics{{"x": 1}, {"x": 3}}}},
			Comparison{Base: "a", Streams: 2, Confidence: 0.95, Metrics: Metrics{"x": 2}, Variants: []Variant{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, compare(test.sides), cmpopts.EquateApprox(0, 1e-5)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// threeSeeds are streams in which gangs of two nodes come between small ones.
func threeSeeds(t *testing.T) (files []string) {
	t.Helper()
	for seed := range uint64(3) {
		load := Load{
			Seconds: 20000, Share: 1.1, Duration: 300, Seed: seed, Sizes: map[int32]float64{1: 4, 2: 3, 4: 1},
			Requests: map[string]string{"example.com/gpu": "3"},
		}
		var text bytes.Buffer
		if err := load.Write(&text, twoNodes(t)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "seed.jsonl")
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func compared(t *testing.T, more ...string) string {
	t.Helper()
	folder := t.TempDir()
	third := nodesOfTwo + "---\n" + `{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}`
	for name, text := range map[string]string{"cluster.yaml": nodesOfTwo, "larger.yaml": third} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	command := Command()
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append([]string{
		"-f", filepath.Join(folder, "cluster.yaml"), "--jobs", strings.Join(threeSeeds(t), ","), "--until", "20000",
		"--compare", "cluster=" + filepath.Join(folder, "larger.yaml"), "--compare", "decider=first-fit", "--compare", "decider=best-fit",
	}, more...))
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err, errs.String())
	}
	return regexp.MustCompile(`cluster=\S+/`).ReplaceAllString(out.String(), "cluster=")
}

// The golden file is what people see. Here a third node helps, and for pods that are all alike it makes no difference
// in which order nodes are tried.
func TestWhatIsPrintedOfAComparison(t *testing.T) {
	const golden = "testdata/comparison.txt"
	got := compared(t)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got), renewed with -update:\n%s", diff)
	}
	var found Comparison
	if err := json.Unmarshal([]byte(compared(t, "-o", "json")), &found); err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Variants[0].Differences {
		if d.Metric == "waitMean" && (d.Difference >= 0 || *d.PlusMinus >= -d.Difference) {
			t.Errorf("a third node changes the mean waiting time by %v ± %v", d.Difference, *d.PlusMinus)
		}
		if math.Abs(d.Value-d.Base-d.Difference) > 1e-9*(1+math.Abs(d.Value)) {
			t.Errorf("%+v: the difference is not that of the means", d)
		}
	}
	page := compared(t, "-o", "html")
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var shown pageComparison
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Comparisons) != 3 || len(shown.Comparisons[0].Rows) != len(found.Variants[0].Differences) {
		t.Errorf("the page shows %d comparisons", len(shown.Comparisons))
	}
}

func TestSeveralStreamsAloneAreTheirMeans(t *testing.T) {
	files := threeSeeds(t)
	stdout, stderr, err := simulateWith(t, threeJobs, "--jobs", files[0]+","+files[1], "--until", "20000")
	if err != nil || !strings.HasPrefix(stdout, "the scheduler, mean of 3 streams\n") || strings.Count(stderr, "simulated") != 3 {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}

// A comparison that was stopped goes on where it was, and prints what it would have printed.
func TestResume(t *testing.T) {
	folder := t.TempDir()
	done := filepath.Join(folder, "done.jsonl")
	cluster := filepath.Join(folder, "cluster.yaml")
	if err := os.WriteFile(cluster, []byte(nodesOfTwo), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs := threeSeeds(t)
	run := func(more ...string) (stdout, stderr string, err error) {
		var out, errs bytes.Buffer
		command := Command()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetOut(&out)
		command.SetErr(&errs)
		command.SetArgs(append([]string{"-f", cluster, "--jobs", strings.Join(jobs, ","), "--until", "9000", "--compare", "decider=best-fit"}, more...))
		err = command.Execute()
		return out.String(), errs.String(), err
	}
	want, _, err := run()
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, before int, more ...string) {
		t.Helper()
		stdout, stderr, err := run(append(more, "--resume", done)...)
		if err != nil {
			t.Fatal(what, err)
		}
		if got := strings.Count(stderr, "was finished before"); got != before || strings.Count(stderr, "simulated") != 6-before {
			t.Errorf("%s: %d were finished before, want %d: %s", what, got, before, stderr)
		}
		if len(more) == 0 && stdout != want {
			t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, stdout))
		}
	}
	expect("the first time", 0)
	expect("the second time", 6)
	text, err := os.ReadFile(done)
	if err != nil {
		t.Fatal(err)
	}
	finished := regexp.MustCompile(`(?m)^\{"key".*"metrics".*\n`).FindAllIndex(text, -1)
	if len(finished) != 6 {
		t.Fatalf("%d simulations are finished by the file", len(finished))
	}
	if err := os.WriteFile(done, text[:finished[3][0]+9], 0o600); err != nil {
		t.Fatal(err)
	}
	expect("a last line that was cut off", 3)
	expect("all are there again", 6)
	expect("another end", 0, "--until", "8000")
	expect("another placement, which best-fit is run with, too", 0, "--placement", "Spread")
	if err := os.WriteFile(cluster, []byte(strings.ReplaceAll(nodesOfTwo, `"9"`, `"8"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	want, _, _ = run()
	expect("another cluster", 0)
	if err := os.WriteFile(done, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run("--resume", done); err == nil || !strings.Contains(err.Error(), "done.jsonl:1: it is no line of a simulation") {
		t.Errorf("another file: %v", err)
	}
}
