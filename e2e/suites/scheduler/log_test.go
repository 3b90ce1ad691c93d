package scheduler_test

import (
	"bufio"
	"os"
	"strings"
)

// lastLines are the last lines of a file that have the text.
func lastLines(file, text string, count int) string {
	opened, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer opened.Close()
	var found []string
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			found = append(found, lines.Text())
		}
	}
	return strings.Join(found[max(0, len(found)-count):], "\n")
}
