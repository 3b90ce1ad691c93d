package testrun

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// timed runs a test binary and prints a line with the CPU time of all its processes. It is a script, because the
// argument of `go test -exec` is part of the key under which go caches results, and the path of the runner's own
// executable changes with each compilation.
//
//go:embed timed.sh
var timed []byte

// writeTimed writes the script beside the logs and returns its absolute path.
func writeTimed(logs string) (string, error) {
	script, err := filepath.Abs(filepath.Join(logs, "timed.sh"))
	if err != nil {
		return "", err
	}
	return script, os.WriteFile(script, timed, 0o700) //nolint:gosec // a program has to be executable
}

const cpuLine = "testrun: user and system: "

// cpuOf reads the script's line: "0m1.25s 0m0.50s", in the format of a shell's times; 0 if the text is another line.
func cpuOf(line string) time.Duration {
	text, is := strings.CutPrefix(line, cpuLine)
	if !is {
		return 0
	}
	var sum time.Duration
	for _, field := range strings.Fields(text) {
		one, err := time.ParseDuration(field)
		if err != nil {
			return 0
		}
		sum += one
	}
	return sum
}
