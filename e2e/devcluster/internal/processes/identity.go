package processes

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

const bootID = "/proc/sys/kernel/random/boot_id"

// startOf returns when the process started, in the same form as the shell in start.go, and whether it runs.
func startOf(pid int) (string, bool) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return startByPS(pid)
	}
	stat, err := statOf(pid)
	return fmt.Sprintf("%d@%s", stat.Starttime, strings.TrimSpace(string(boot))),
		err == nil && stat.State != "Z" && stat.State != "X"
}

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

// startByPS is for systems without /proc.
func startByPS(pid int) (string, bool) {
	state := ps(pid, "state")
	return ps(pid, "lstart"), state != "" && !strings.HasPrefix(state, "Z")
}

func ps(pid int, column string) string {
	output, err := exec.Command("ps", "-o", column+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}
