//go:build unix

package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/hostile"
)

// some are small cases.
func some(n int) []hostile.Find {
	random := rand.New(rand.NewPCG(1, 1))
	finds := make([]hostile.Find, n)
	for i := range finds {
		c := hostile.Draw(random)
		c.Nodes, c.Pods, c.Kinds, c.Groups, c.Inner = min(c.Nodes, 20), min(c.Pods, 12), min(c.Kinds, 5), 2, 0
		finds[i] = hostile.Find{Case: c, Score: float64(i)}
	}
	return finds
}

func TestCasesThatWereWrittenAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worst.json")
	finds, want := some(20), []hostile.Case(nil)
	for _, find := range finds {
		want = append(want, find.Case)
	}
	if err := write(path, finds); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, cases (-written +read):\n%s", err, diff)
	}
}

func TestAFileThatHoldsNoCasesIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worst.json")
	if _, err := read(path); err == nil {
		t.Error("a file that is not there was read")
	}
	if err := os.WriteFile(path, []byte(`{"seed": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one with the file's name", err)
	}
}

func TestASearchGivesTheWorstOfEachClimbFirst(t *testing.T) {
	pods := func(c hostile.Case) float64 { return float64(c.Pods) }
	finds := search(1, time.Now().Add(50*time.Millisecond), pods)
	if len(finds) == 0 {
		t.Fatal("no climb came to its end")
	}
	for _, find := range finds {
		if find.Score != pods(find.Case) {
			t.Errorf("a case of %d pods has score %g", find.Case.Pods, find.Score)
		}
	}
	if !slices.IsSortedFunc(finds, func(a, b hostile.Find) int { return int(b.Score - a.Score) }) {
		t.Errorf("not the worst first: %+v", finds)
	}
	if worst := finds[0].Case.Pods; worst != hostile.MaxPods {
		t.Errorf("the worst case has %d pods, want %d", worst, hostile.MaxPods)
	}
}

func TestBlocksAreCountedInABuildForThatOnly(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := newCounter(); err == nil || !strings.Contains(err.Error(), "go build -cover -covermode=atomic") {
		t.Errorf("error %v, want one that says how to build", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v, left: %v", err, left)
	}
}

func TestBlocksAndTheirLinesAreNamed(t *testing.T) {
	folder := t.TempDir()
	program, cases := filepath.Join(folder, "hostilesearch"), filepath.Join(folder, "worst.json")
	if err := write(cases, some(2)); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=packtree.dev/shared/packing,.", "-o", program, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	printed := func() string {
		run := exec.Command(program, "--by", "blocks", "--from", cases)
		run.Env = append(os.Environ(), "GOCOVERDIR="+folder)
		said, err := run.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return string(said)
	}
	first := printed()
	summary := regexp.MustCompile(`(?m)^[0-9.]+ million blocks: .* after [0-9]+ steps, [0-9]+ placed: \{"seed":`)
	if n := len(summary.FindAllString(first, -1)); n != 2 {
		t.Errorf("%d cases are described, want 2:\n%s", n, first)
	}
	if n := len(regexp.MustCompile(`(?m)^  [a-z_]+\.go:[0-9.]+ [0-9.]+$`).FindAllString(first, -1)); n != 16 {
		t.Errorf("%d lines are named, want 8 for each of two cases:\n%s", n, first)
	}
	// What is computed differs from run to run, the blocks do not.
	times := regexp.MustCompile(`: [0-9.]+ ms, [0-9.]+ MB,`)
	if diff := cmp.Diff(times.ReplaceAllString(first, ""), times.ReplaceAllString(printed(), "")); diff != "" {
		t.Errorf("another number of blocks (-first +second):\n%s", diff)
	}
}
