package load

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
)

// usage of a process: seconds of CPU time, and MiB of resident memory, now and at most.
type usage struct{ cpu, resident, most float64 }

func usageOf(pid int) (usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := process.NewStatus()
	return usage{stat.CPUTime(), mebibytes(status.VmRSS), mebibytes(status.VmHWM)}, err
}

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// profiles are written into a directory, unless that is empty.
type profiles struct {
	into string
	// ask reads a path of the program.
	ask func(ctx context.Context, path string) ([]byte, error)
}

// cpu writes a profile of the next seconds. The returned function waits until it is written.
func (p profiles) cpu(ctx context.Context, of string, seconds int) func() error {
	done := make(chan error, 1)
	go func() { done <- p.save(ctx, of, fmt.Sprintf("profile?seconds=%d", seconds)) }()
	return func() error { return <-done }
}

// save writes one of the program's profiles.
func (p profiles) save(ctx context.Context, of, which string) error {
	if p.into == "" {
		return nil
	}
	content, err := p.ask(ctx, "/debug/pprof/"+which)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.into, of+".pprof"), content, 0o600)
}

// machine names the processor and the number of its cores.
func machine() string {
	model := runtime.GOARCH
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if name, found := strings.CutPrefix(lines.Text(), "model name"); found {
				model = strings.TrimLeft(name, "\t :")
				break
			}
		}
	}
	return fmt.Sprintf("%d x %s", runtime.NumCPU(), model)
}
