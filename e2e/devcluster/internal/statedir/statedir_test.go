package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func claimed(t *testing.T, path string) *Dir {
	t.Helper()
	dir, err := Claim(path)
	require.NoError(t, err)
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
	require.NoError(t, os.WriteFile(filepath.Join(path, "thesis.tex"), nil, 0o600))
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

func TestClearKeepsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	dir := claimed(t, path)
	require.NoError(t, dir.Save(State{}))
	require.NoError(t, dir.Clear())
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is left: %v", err)
	}
	if _, err := Claim(path); !errors.Is(err, ErrBusy) {
		t.Errorf("a second claim: %v", err)
	}
}

func TestADamagedStateIsAnErrorThatNamesTheFile(t *testing.T) {
	dir := claimed(t, filepath.Join(t.TempDir(), "state"))
	require.NoError(t, os.WriteFile(dir.Path(stateFile), []byte("{"), 0o600))
	if _, err := Load(dir.Path()); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
