package live

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// LogLines are the last lines of a program's log that contain the text, for the report of a failure.
func (o *Own) LogLines(program, text string, count int) string {
	opened, err := os.Open(filepath.Join(o.Machine.Dir, "logs", program+".log"))
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
