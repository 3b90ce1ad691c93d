package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Record is the knowledge about a process that remains after its starter is gone.
type Record struct {
	// Name under which it was started.
	Name string `json:"name"`
	// PID is also the process group: every process leads its own.
	PID int `json:"pid"`
	// Start distinguishes the process from a later one with the same number.
	Start string `json:"start"`
}

// Self is the record of the calling process.
func Self(name string) Record {
	start, _ := startOf(os.Getpid())
	return Record{Name: name, PID: os.Getpid(), Start: start}
}

// Alive reports whether that very process runs. A process that has ended and is not reaped yet does not run.
func (r Record) Alive() bool {
	start, ok := startOf(r.PID)
	return ok && start == r.Start
}

// Recorded returns the records of a directory by name.
func Recorded(directory string) ([]Record, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*"+recordSuffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var records []Record
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		record, err := parseRecord(string(content))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		record.Name = strings.TrimSuffix(filepath.Base(file), recordSuffix)
		records = append(records, record)
	}
	return records, nil
}

func parseRecord(content string) (Record, error) {
	pid, start, ok := strings.Cut(strings.TrimSpace(content), " ")
	number, err := strconv.Atoi(pid)
	if !ok || err != nil || number <= 1 {
		return Record{}, fmt.Errorf("%q is not a process", content)
	}
	return Record{PID: number, Start: start}, nil
}
