package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/e2e/devcluster/internal/processes"
)

func claimed(t *testing.T, path string) *Dir {
	t.Helper()
	dir, err := Claim(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Release)
	return dir
}

func TestADirectoryIsClaimedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	dir := claimed(t, path)
	if _, err := Claim(path); !errors.Is(err, ErrBusy) {
		t.Errorf("a second claim: %v", err)
	}
	if _, err := Existing(path); !errors.Is(err, ErrBusy) {
		t.Errorf("a removal at the same time: %v", err)
	}
	dir.Release()
	again, err := Existing(path)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	again.Release()
}

func TestADirectoryWithOtherThingsIsNeitherFilledNorRemoved(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(path); err == nil {
		t.Error("it is claimed")
	}
	if _, err := Existing(path); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking for a cluster there: %v", err)
	}
	if entries, _ := os.ReadDir(path); len(entries) != 1 {
		t.Errorf("it holds %v", entries)
	}
}

func TestAnEmptyDirectoryIsTaken(t *testing.T) {
	claimed(t, t.TempDir())
}

func TestNoDirectoryIsNoCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if _, err := Existing(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRemoveLeavesNothingAndFreesTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	dir := claimed(t, path)
	if err := os.MkdirAll(dir.Path("logs", "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	claimed(t, path)
}

func TestClearKeepsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	dir := claimed(t, path)
	if err := dir.Save(State{}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is left: %v", err)
	}
	if _, err := Claim(path); !errors.Is(err, ErrBusy) {
		t.Errorf("a second claim: %v", err)
	}
}

func TestStateIsReadAsItWasSaved(t *testing.T) {
	dir := claimed(t, filepath.Join(t.TempDir(), "state"))
	want := State{
		Started: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Owner:   processes.Record{Name: "up", PID: 42, Start: "7@boot"},
		Ready:   true,
		Processes: []Process{
			{Name: "etcd", Health: "https://127.0.0.1:2379/health", Version: "v3.6.8"},
			{Name: "podgrouper", Component: true, Health: "http://127.0.0.1:8081/readyz", Version: "v0.1.0"},
		},
	}
	if err := dir.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir.Path())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestADamagedStateIsAnErrorThatNamesTheFile(t *testing.T) {
	dir := claimed(t, filepath.Join(t.TempDir(), "state"))
	if err := os.WriteFile(dir.Path(stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir.Path()); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
