package simulate

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// saved are simulations in a file: of each a line that begins it, a line for each of its decisions, and, in a
// comparison, a line with its metrics once it is over.
type saved struct {
	file  *os.File
	known map[string]Metrics
	// open is the key of the last one, if it is not over, and from where its decisions begin; end is where the file
	// ends.
	open      string
	from, end int64
}

// savedRun is the line that begins or ends a simulation. Key says of what it is, and Run says it to people.
type savedRun struct {
	Key     string  `json:"key"`
	Run     string  `json:"run"`
	Metrics Metrics `json:"metrics,omitempty"`
}

// resume reads what is saved; nothing is without a file. A last line that was cut off when the process ended is written
// over.
func resume(path string) (*saved, error) {
	s := &saved{known: map[string]Metrics{}}
	if path == "" {
		return s, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	s.file = file
	lines := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.read(line)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--resume: %s:%d: %w", path, number, err), file.Close())
		}
	}
	if err := file.Truncate(s.end); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *saved) read(line []byte) error {
	s.end += int64(len(line))
	if !bytes.HasPrefix(line, []byte(`{"key"`)) {
		if s.open == "" || !json.Valid(line) {
			return errors.New("it is no line of a simulation")
		}
		return nil
	}
	var run savedRun
	if err := json.Unmarshal(line, &run); err != nil {
		return err
	}
	if s.open, s.from = run.Key, s.end; run.Metrics != nil {
		s.known[run.Key], s.open = run.Metrics, ""
	}
	return nil
}

// begin returns the decisions of a simulation, of which those are known that it had made when it was interrupted.
func (s *saved) begin(run savedRun) (*decisions, error) {
	if s.file == nil {
		return nil, nil
	}
	d := &decisions{file: s.file, out: bufio.NewWriterSize(s.file, 1<<16)}
	if s.open == run.Key {
		d.known = bufio.NewReaderSize(s.file, 1<<16)
		_, err := s.file.Seek(s.from, io.SeekStart)
		return d, err
	}
	if _, err := s.file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	return d, json.NewEncoder(d.out).Encode(run)
}

// finish writes down that a simulation is over.
func (s *saved) finish(run savedRun) error {
	if s.file == nil {
		return nil
	}
	return json.NewEncoder(s.file).Encode(run)
}

func (s *saved) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// decisions are those of a simulation as they are written down. Once more from the beginning with the same decisions is
// the same simulation, and finding them is what takes its time. Nil keeps none.
type decisions struct {
	file *os.File
	// known reads those from before; nil once there are no more.
	known   *bufio.Reader
	out     *bufio.Writer
	flushed time.Time
}

// decided is a decision: who gets which node, who leaves for it, or that there is no place.
type decided struct {
	// Nodes has the place of the node of each pending pod among the names of all nodes, none for a pod that gets none.
	Nodes []int32 `json:"nodes,omitempty"`
	// Leave are the pods that leave, by their UIDs.
	Leave []string `json:"leave,omitempty"`
	// Short are the resources that a gang without a place is short of, and Misjudged is set if there was one.
	Short     []string `json:"short,omitempty"`
	Misjudged bool     `json:"misjudged,omitempty"`
	// Anew is set if more hangs on the decision: it is made once more.
	Anew bool `json:"anew,omitempty"`
}

// next returns the next decision that is known; nil if none is.
func (d *decisions) next() (*decided, error) {
	if d == nil || d.known == nil {
		return nil, nil
	}
	line, err := d.known.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		d.known = nil
		return nil, nil
	}
	next := &decided{}
	if err == nil {
		err = json.Unmarshal(line, next)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume: reading a decision: %w", err)
	}
	return next, nil
}

// add writes a decision down. What a process that is killed has not written is decided once more.
func (d *decisions) add(made *decided) error {
	if d == nil {
		return nil
	}
	line, err := json.Marshal(made)
	if err != nil {
		return err
	}
	if _, err := d.out.Write(append(line, '\n')); err != nil {
		return err
	}
	if time.Since(d.flushed) < time.Second {
		return nil
	}
	d.flushed = time.Now()
	return d.out.Flush()
}

func (d *decisions) flush() error {
	if d == nil {
		return nil
	}
	return d.out.Flush()
}

// keyOf distinguishes simulations by all that they depend on: this program, the cluster, the stream, and the flags. Of
// a decider that is a program the command is looked at, not the program.
func (s *side) keyOf(cluster *inventory.Inventory, jobs string, until *float64) (string, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode([]any{
		s.decider, s.placement, until, cluster.Nodes, cluster.Topologies, cluster.PodGroups, cluster.Pods,
	}); err != nil {
		return "", err
	}
	program, err := programSum()
	if err != nil {
		return "", err
	}
	sum.Write(program)
	file, err := os.Open(jobs)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(sum, file)
	return fmt.Sprintf("%x", sum.Sum(nil)), errors.Join(err, file.Close())
}

// programSum distinguishes the programs that simulate.
var programSum = sync.OnceValues(func() ([]byte, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return sum.Sum(nil), errors.Join(err, file.Close())
})
