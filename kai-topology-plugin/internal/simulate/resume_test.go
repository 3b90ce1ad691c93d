package simulate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standing runs the command on files that stay where they are: the cluster, the stream, and that of --resume, which is
// saved.
type standing struct{ folder, saved string }

func newStanding(t *testing.T, jobs string) standing {
	t.Helper()
	s := standing{folder: t.TempDir()}
	s.saved = filepath.Join(s.folder, "saved")
	s.write(t, filepath.Join(s.folder, "cluster.yaml"), nodesOfTwo+strings.NewReplacer("n0", "n2", "n1", "n3").Replace("---"+nodesOfTwo))
	s.write(t, filepath.Join(s.folder, "jobs.jsonl"), jobs)
	return s
}

func (s standing) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s standing) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append([]string{"-f", filepath.Join(s.folder, "cluster.yaml"), "--jobs", filepath.Join(s.folder, "jobs.jsonl")}, args...))
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// busy is a stream in which gangs overtake, preempt, and lose nodes.
func busy() string {
	var lines strings.Builder
	random := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // The same stream each time.
	for i := range 60 {
		if i%15 == 9 {
			fmt.Fprintf(&lines, `{"at": %d, "node": "n%d", "down": %t}`+"\n", 2*i, i/30, i%30 == 9)
		}
		fmt.Fprintf(&lines, `{"at": %d, "name": "g%d", "duration": %d, "pods": %d, "requests": {"example.com/gpu": "%d"}, "priority": %d}`+"\n",
			2*i, i, 1+random.IntN(12), 1+random.IntN(3), 8-4*random.IntN(2), max(0, random.IntN(6)-3))
	}
	return lines.String()
}

// Wherever a simulation was cut off, also within a line that it was writing, it goes on to the same bytes, and writes
// down what it would have written.
func TestAnInterruptedSimulationGoesOnToTheSameBytes(t *testing.T) {
	s := newStanding(t, busy())
	for name, args := range map[string][]string{
		"the scheduler": nil, "best-fit": {"--decider", BestFit}, "a recording": {"-o", "recording"},
		"a program": {"--decider", fmt.Sprintf("%s=careful %s", asDecider, os.Args[0])},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := s.run(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			args := append(args, "--resume", s.saved)
			s.write(t, s.saved, "")
			if got, err := s.run(t, args...); err != nil || got != want {
				t.Fatalf("%v: with --resume it prints\n%s\nand without\n%s", err, got, want)
			}
			all, err := os.ReadFile(s.saved)
			if err != nil {
				t.Fatal(err)
			}
			if decisions := bytes.Count(all, []byte("\n")) - 1; decisions < 50 || name == "the scheduler" && !bytes.Contains(all, []byte("leave")) {
				t.Fatalf("%d decisions are written down:\n%s", decisions, all)
			}
			for range 20 {
				cut := rand.IntN(len(all) + 1) //nolint:gosec // Any place will do.
				s.write(t, s.saved, string(all[:cut]))
				if got, err := s.run(t, args...); err != nil || got != want {
					t.Fatalf("%v: cut off after %d bytes it goes on to\n%s\ninstead of\n%s", err, cut, got, want)
				}
				if again, err := os.ReadFile(s.saved); err != nil || !bytes.Equal(again, all) {
					t.Fatalf("%v: cut off after %d bytes, written down is\n%s\ninstead of\n%s", err, cut, again, all)
				}
			}
		})
	}
}

func TestWhatIsNoSavedSimulationIsNamed(t *testing.T) {
	s := newStanding(t, `{"at": 0, "name": "a", "duration": 10, "pods": 1, "requests": {"example.com/gpu": "8"}}`)
	s.write(t, s.saved, "")
	if _, err := s.run(t, "--resume", s.saved); err != nil {
		t.Fatal(err)
	}
	begun, err := os.ReadFile(s.saved)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(begun), "\n")
	for text, want := range map[string]string{
		"nodes\n":                             "saved:1: it is no line of a simulation",
		"{}\n":                                "saved:1: it is no line of a simulation",
		first + "\n{\"nodes\": [9999]}\n":     "--resume: there is no node 9999",
		first + "\n{\"nodes\": [-2]}\n":       "--resume: there is no node -2",
		first + "\n{\"nodes\": [0, 0]}\n":     "--resume: there are nodes for 2 pods, not 1",
		first + "\n{\"nodes\": [\"a\"]}\n":    "--resume: reading a decision: ",
		first + "\n{\"nodes\": [0]} and so\n": "saved:2: it is no line of a simulation",
		"{\"key\": 7}\n":                      "saved:1: ",
	} {
		s.write(t, s.saved, text)
		if _, err := s.run(t, "--resume", s.saved); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
