package testrun

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// event is a line of `go test -json`; `go doc test2json` and `go help buildjson` describe the fields.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
	// ImportPath is set for the compiler's output, and FailedBuild is the import path whose output explains why a
	// package has no test binary.
	ImportPath  string
	FailedBuild string
}

func (e event) took() time.Duration {
	return time.Duration(e.Elapsed * float64(time.Second))
}

// read passes each event to handle. Other lines go to the writer: tests print them past the testing package.
func read(from io.Reader, to io.Writer, handle func(event) error) error {
	lines := bufio.NewScanner(from)
	// A test may print a whole object in one line.
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(to, lines.Text())
			continue
		}
		if err := handle(e); err != nil {
			return err
		}
	}
	return lines.Err()
}
