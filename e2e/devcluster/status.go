package devcluster

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// Status of a cluster.
type Status struct {
	// Dir is the state directory and Kubeconfig the administrator's, absolute.
	Dir, Kubeconfig string
	// Started is when the cluster began to come up.
	Started time.Time
	// Phase of its start.
	Phase Phase
	// Kubernetes is the version that the API server reports; empty if it does not answer.
	Kubernetes string
	// Nodes and ReadyNodes count nodes.
	Nodes, ReadyNodes int
	// Processes are in the order in which they were started.
	Processes []ProcessStatus
}

// Phase of a cluster's start.
type Phase string

const (
	// Starting is a cluster that a process brings up.
	Starting Phase = "starting"
	// Started is a cluster that is up.
	Started Phase = "up"
	// BrokenOff is the rest of a start that no process will finish.
	BrokenOff Phase = "broken off"
)

func phaseOf(state statedir.State) Phase {
	switch {
	case state.Ready:
		return Started
	case state.Owner.Alive():
		return Starting
	default:
		return BrokenOff
	}
}

// ProcessStatus of one process.
type ProcessStatus struct {
	Name    string
	Version string
	// PID is 0 if it has ended.
	PID int
	// Memory is its resident memory in bytes.
	Memory int64
	// Problem says why it does not work; nil if it works.
	Problem error
	// Log is its log file.
	Log string
}

// ErrNone means that a state directory has no cluster.
var ErrNone = errors.New("no dev cluster")

// ReadStatus reads the status of the cluster in the state directory.
func ReadStatus(ctx context.Context, directory string) (Status, error) {
	dir, err := existing(directory)
	if err != nil {
		return Status{}, err
	}
	state, err := statedir.Load(dir)
	if err != nil {
		return Status{}, err
	}
	records, err := statedir.Records(dir)
	if err != nil {
		return Status{}, err
	}
	status := Status{
		Dir: dir, Kubeconfig: filepath.Join(dir, programs.AdministratorFile), Started: state.Started,
		Phase: phaseOf(state),
	}
	config, err := clientcmd.BuildConfigFromFlags("", status.Kubeconfig)
	if err != nil {
		// The start was broken off, or has not come further yet.
		return status, nil //nolint:nilerr // there is nothing more to be asked
	}
	config.Timeout = 5 * time.Second
	probe, err := newProbe(config)
	if err != nil {
		return Status{}, err
	}
	byName := map[string]processes.Record{}
	for _, record := range records {
		byName[record.Name] = record
	}
	for _, process := range state.Processes {
		status.Processes = append(status.Processes, processStatus(ctx, probe, dir, process, byName[process.Name]))
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Status{}, err
	}
	status.ask(ctx, client)
	return status, nil
}

func existing(directory string) (string, error) {
	if directory == "" {
		directory = DefaultDir
	}
	_, err := statedir.Load(directory)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w in %s", ErrNone, directory)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(directory)
}

// Kubeconfig is the path of the administrator's kubeconfig of the cluster in the state directory.
func Kubeconfig(directory string) (string, error) {
	dir, err := existing(directory)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, programs.AdministratorFile)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%w in %s: its start has not come to a kubeconfig", ErrNone, directory)
	}
	return file, nil
}

func processStatus(
	ctx context.Context, probe *probe, dir string, process statedir.Process, record processes.Record,
) ProcessStatus {
	status := ProcessStatus{
		Name: process.Name, Version: process.Version, Log: filepath.Join(dir, "logs", process.Name+".log"),
	}
	if record.PID == 0 || !record.Alive() {
		status.Problem = errors.New("ended")
		return status
	}
	status.PID, status.Memory = record.PID, record.Memory()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	status.Problem = probe.check(ctx, process.Health)
	return status
}

// ask leaves zeros if the API server does not answer: its process reports that.
func (s *Status) ask(ctx context.Context, client kubernetes.Interface) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return
	}
	s.Kubernetes = version.GitVersion
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	s.Nodes, s.ReadyNodes = len(nodes.Items), countReady(nodes.Items)
}

var stamped = regexp.MustCompile(`packtree\.dev/shared/version\.version=([^\s'"]+)`)

// versionOf reads the version that the linker has set, for our own programs, or else that of the module.
func versionOf(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if match := stamped.FindStringSubmatch(setting.Value); setting.Key == "-ldflags" && match != nil {
			return match[1]
		}
	}
	return info.Main.Version
}
