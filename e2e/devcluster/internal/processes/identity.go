package processes

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const bootID = "/proc/sys/kernel/random/boot_id"

// startOf returns when the process started, in the same form as the shell in start.go, and whether it runs.
func startOf(pid int) (string, bool) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return startByPS(pid)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	state, ticks, ok := parseStat(string(stat))
	return ticks + "@" + strings.TrimSpace(string(boot)), ok && state != "Z" && state != "X"
}

// parseStat returns the state and the start, in ticks since boot, from a line as in proc(5). The name, in parentheses,
// may itself contain blanks and parentheses.
func parseStat(stat string) (state, start string, ok bool) {
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	const afterName = 3 // the state is field 3, the start is field 22
	if !found || len(fields) <= 22-afterName {
		return "", "", false
	}
	return fields[0], fields[22-afterName], true
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
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

// Memory is the resident memory of the process in bytes; 0 when it is gone.
func (r Record) Memory() int64 {
	if !r.Alive() {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID))
	kilobytes := parseMemory(string(status))
	if err != nil {
		kilobytes, _ = strconv.ParseInt(ps(r.PID, "rss"), 10, 64)
	}
	return kilobytes * 1024
}

func parseMemory(status string) (kilobytes int64) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		}
	}
	return kilobytes
}
