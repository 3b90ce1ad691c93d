package simulate

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// finished are the simulations of a comparison that are over, in a file with a line for each.
type finished struct {
	file  *os.File
	known map[string]Metrics
}

// finishedRun is a line. Key says of what, and Run says it to people.
type finishedRun struct {
	Key     string  `json:"key"`
	Run     string  `json:"run"`
	Metrics Metrics `json:"metrics"`
}

// resume reads what is finished; nothing is without a file. A last line that was cut off when the process ended is
// written over.
func resume(path string) (*finished, error) {
	f := &finished{known: map[string]Metrics{}}
	if path == "" {
		return f, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	f.file = file
	lines, whole := bufio.NewReader(file), int64(0)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var run finishedRun
		if err == nil {
			err = json.Unmarshal(line, &run)
		}
		if err == nil && run.Key == "" {
			err = errors.New("it is no finished simulation")
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--resume: %s:%d: %w", path, number, err), file.Close())
		}
		f.known[run.Key] = run.Metrics
		whole += int64(len(line))
	}
	if err := file.Truncate(whole); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	_, err = file.Seek(whole, io.SeekStart)
	return f, err
}

// add writes down that a simulation is finished.
func (f *finished) add(run finishedRun) error {
	if f.file == nil {
		return nil
	}
	return json.NewEncoder(f.file).Encode(run)
}

func (f *finished) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// keyOf tells simulations apart by all that they depend on: this program, the cluster, the stream, and the flags. Of a
// decider that is a program the command is looked at, not the program.
func (s *side) keyOf(cluster *inventory.Inventory, jobs string, until *float64) (string, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode([]any{
		s.decider, s.placement, until, cluster.Nodes, cluster.Topologies, cluster.PodGroups, cluster.Pods,
	}); err != nil {
		return "", err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, name := range []string{program, jobs} {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
