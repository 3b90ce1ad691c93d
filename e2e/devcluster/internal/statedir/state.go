package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"packtree.dev/e2e/devcluster/internal/processes"
)

const processesDirectory = "processes"

// State is what a later command needs to know of a cluster.
type State struct {
	// Started is when the cluster began to come up.
	Started time.Time `json:"started"`
	// Owner is the process that brought, or brings, it up.
	Owner processes.Record `json:"owner"`
	// Ready is set once everything runs.
	Ready bool `json:"ready"`
	// Processes are in the order in which they were started.
	Processes []Process `json:"processes"`
}

// Process is what is known of a process besides its record.
type Process struct {
	// Name is that of the record.
	Name string `json:"name"`
	// Component says whether it is one of Packtree's own.
	Component bool `json:"component"`
	// Health is the URL that reports whether it works.
	Health string `json:"health"`
	// Version is that of the program.
	Version string `json:"version"`
}

// Save replaces the state, whole or not at all.
func (d *Dir) Save(state State) error {
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	unfinished := d.Path(stateFile + ".new")
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, d.Path(stateFile))
}

// Load reads the state of a cluster without its lock. os.ErrNotExist says that there is none.
func Load(path string) (State, error) {
	var state State
	content, err := os.ReadFile(filepath.Join(path, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return state, os.ErrNotExist
	}
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return state, fmt.Errorf("reading %s: %w", filepath.Join(path, stateFile), err)
	}
	return state, nil
}

// Records returns the processes that were started in the directory, which may have ended since.
func Records(path string) ([]processes.Record, error) {
	return processes.Recorded(filepath.Join(path, processesDirectory))
}

// Processes is where the records of processes go.
func (d *Dir) Processes() string {
	return d.Path(processesDirectory)
}
