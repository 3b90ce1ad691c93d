package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"packtree.dev/e2e/devcluster/internal/processes"
)

const processesDirectory = "processes"

// State is what later commands need of a cluster.
type State struct {
	// Owner is the process that brings, or brought, it up.
	Owner processes.Record `json:"owner"`
	// Ready is set once everything runs.
	Ready bool `json:"ready"`
	// Processes are in the order in which they were started.
	Processes []Process `json:"processes"`
}

// Process is what is stored about a process beside its record.
type Process struct {
	// Name of the record.
	Name string `json:"name"`
	// Component reports whether it is one of Packtree's own programs.
	Component bool `json:"component"`
	// Health is the URL of its health endpoint.
	Health string `json:"health"`
}

// Save replaces the state atomically.
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

// Load reads the state of a cluster without its lock. os.ErrNotExist means that there is none.
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

// Processes is the directory of the records of processes.
func (d *Dir) Processes() string {
	return d.Path(processesDirectory)
}
