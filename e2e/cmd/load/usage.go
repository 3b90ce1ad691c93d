package main

import (
	"fmt"
	"runtime"

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

// machine names the processor and the number of its cores.
func machine() string {
	model := runtime.GOARCH
	if system, err := procfs.NewDefaultFS(); err == nil {
		if cores, err := system.CPUInfo(); err == nil && len(cores) > 0 {
			model = cores[0].ModelName
		}
	}
	return fmt.Sprintf("%d x %s", runtime.NumCPU(), model)
}
