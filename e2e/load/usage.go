package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// cpuOf is how much computing a process has done.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold blanks; utime and stime are fields 14 and 15 in ticks of 10 ms.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const afterName, utime, stime = 3, 14, 15
	var ticks int
	for _, field := range []int{utime, stime} {
		count, err := strconv.Atoi(fields[field-afterName])
		if err != nil {
			return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
		}
		ticks += count
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// memoryOf is the resident memory of a process, now and at its most, in bytes.
func memoryOf(pid int) (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		var into *int64
		switch fields[0] {
		case "VmRSS:":
			into = &now
		case "VmHWM:":
			into = &most
		default:
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
		}
		*into = kilobytes * 1024
	}
	return now, most, nil
}
