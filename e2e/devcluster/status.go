package devcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// ProcessStatus is the status of one process.
type ProcessStatus struct {
	Name string
	// PID is 0 if it has ended.
	PID int
	// Problem says why it does not work; nil if it works.
	Problem error
	// Log is its log file.
	Log string
}

// Status reads how the processes of the cluster in the state directory are, in the order in which they were started. It
// is an error if there is no cluster, or one that is not up.
func Status(ctx context.Context, directory string) ([]ProcessStatus, error) {
	kubeconfig, err := Kubeconfig(directory)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(kubeconfig)
	state, err := statedir.Load(dir)
	switch {
	case err != nil:
		return nil, err
	case !state.Ready && state.Owner.Alive():
		return nil, errors.New("the cluster is still starting")
	case !state.Ready:
		return nil, errors.New("the start broke off: `devcluster down` cleans up")
	}
	records, err := statedir.Records(dir)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	probe, err := newProbe(config)
	if err != nil {
		return nil, err
	}
	byName := map[string]processes.Record{}
	for _, record := range records {
		byName[record.Name] = record
	}
	var all []ProcessStatus
	for _, process := range state.Processes {
		all = append(all, processStatus(ctx, probe, dir, process, byName[process.Name]))
	}
	return all, nil
}

// Kubeconfig is the path of the administrator's kubeconfig of the cluster in the state directory.
func Kubeconfig(directory string) (string, error) {
	dir, err := filepath.Abs(cmp.Or(directory, DefaultDir))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, programs.AdministratorFile)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("no dev cluster in %s, or its start has not come to a kubeconfig", dir)
	}
	return file, nil
}

func processStatus(
	ctx context.Context, probe *probe, dir string, process statedir.Process, record processes.Record,
) ProcessStatus {
	status := ProcessStatus{Name: process.Name, Log: filepath.Join(dir, "logs", process.Name+".log")}
	if record.PID == 0 || !record.Alive() {
		status.Problem = errors.New("ended")
		return status
	}
	status.PID = record.PID
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	status.Problem = probe.check(ctx, process.Health)
	return status
}
