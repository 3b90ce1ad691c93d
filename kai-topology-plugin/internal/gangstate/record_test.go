package gangstate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var recordAnew = flag.Bool("record", false,
	"record the runs anew: needs KUBEBUILDER_ASSETS, as package schedulerserver does, and takes minutes")

// recordedRuns are specs of package schedulerserver, by the name of the run in testdata.
var recordedRuns = map[string]string{
	"bindings-fail":    "is mended where it stands when one of its bindings fails for a while",
	"nodes-flap":       "ends whole, on nodes without taint, when nodes are tainted meanwhile: run 0",
	"preemption":       "clears the cheapest rack, holds the room while pods stop, and leaves all others alone",
	"podgroup-edited":  "is decided anew when its PodGroup is changed while it waits",
	"topology-deleted": "waits while its Topology is gone, which others that stand do not mind",
	"seat-taken":       "loses its seat to a gang of higher priority",
	"group-moves":      "has the subgroup moved to the rack that has room, after a time that it is told before",
}

// recorder has tests of a scheduler that records, which leaves its journal in a directory.
type recorder struct{ program, journals string }

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{program: filepath.Join(t.TempDir(), "schedulerserver"), journals: t.TempDir()}
	run(t, "go", "test", "-c", "-vet=off", "-overlay", overlay(t), "-o", r.program,
		"-ldflags", "-X packtree.dev/kai-topology-plugin/internal/gangstate.JournalDirectory="+r.journals,
		"packtree.dev/kai-topology-plugin/internal/schedulerserver")
	return r
}

// record has a spec run, and writes what the scheduler recorded meanwhile.
func (r *recorder) record(t *testing.T, spec, file string) {
	t.Helper()
	run(t, r.program, "-ginkgo.focus", regexp.QuoteMeta(spec))
	journal := r.journal(t)
	replayed := replay(t, journal)
	if diff := cmp.Diff(outcomes(t, journal), outcomes(t, replayed)); diff != "" {
		t.Fatalf("what followed, and what follows from the same events (-then +now):\n%s", diff)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, replayed, 0o644); err != nil {
		t.Fatal(err)
	}
}

// journal returns that of the scheduler which led, and removes all.
func (r *recorder) journal(t *testing.T) (journal []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.journals, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"do":"Planned"`)) {
			journal = readable(t, text)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if journal == nil {
		t.Fatalf("no scheduler of %v planned a gang", found)
	}
	return journal
}

// outcomes are the calls of a journal and their results.
func outcomes(t *testing.T, journal []byte) (calls []string) {
	t.Helper()
	for _, one := range bytes.Split(bytes.TrimSpace(journal), []byte("\n")) {
		next := line{}
		if err := json.Unmarshal(one, &next); err != nil {
			t.Fatal(err)
		}
		for i, text := range next.Then {
			next.Then[i] = inOrder(t, text)
		}
		if next.Do != "" {
			calls = append(calls, fmt.Sprintf("%s %s", next.Do, next.Then))
		}
	}
	return calls
}

// inOrder is a result with its lists sorted: in the program that recorded, pods had other UIDs.
func inOrder(t *testing.T, text json.RawMessage) json.RawMessage {
	t.Helper()
	effects := map[string]any{}
	if json.Unmarshal(text, &effects) != nil {
		return text
	}
	for name, effect := range effects {
		if list, ok := effect.([]any); ok {
			effects[name] = sortedOnce(list)
		}
	}
	sorted, err := json.Marshal(effects)
	if err != nil {
		t.Fatal(err)
	}
	return sorted
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if output, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, arguments, err, output)
	}
}

// worldName is what a spec calls its namespace.
var worldName = regexp.MustCompile(`gangs-[a-z0-9]{5}`)

// readable is a journal without calls that change nothing and are about nothing, and with short names.
func readable(t *testing.T, text []byte) []byte {
	t.Helper()
	worlds := map[string]string{}
	text = worldName.ReplaceAllFunc(text, func(name []byte) []byte {
		if worlds[string(name)] == "" {
			worlds[string(name)] = fmt.Sprint("w", len(worlds)+1)
		}
		return []byte(worlds[string(name)])
	})
	var kept [][]byte
	for _, one := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		next := line{}
		if err := json.Unmarshal(one, &next); err != nil {
			t.Fatal(err)
		}
		if next.Do == "" || len(next.Then) > 0 || !idle(next) {
			kept = append(kept, one)
		}
	}
	return bytes.Join(kept, []byte("\n"))
}

// idle reports whether a call that has no effect is one that comes again and again, or is about no change.
func idle(call line) bool {
	switch call.Do {
	case "Tick", "RepairsPlanned", "SuccessorsAnswered":
		return true
	case "PodChanged":
		before, after := call.With[0], call.With[1]
		comesOrGoes := string(before) == "null" || string(after) == "null"
		return string(before) == string(after) || comesOrGoes && !ofWorld(before) && !ofWorld(after)
	case "PodFinished":
		return !ofWorld(call.With[0])
	}
	return false
}

// ofWorld reports whether a pod is one of the spec.
func ofWorld(pod json.RawMessage) bool { return bytes.Contains(pod, []byte("pod w")) }

// overlay returns a file that has the compiler take a State which keeps a journal in place of State, which becomes
// its part. Every exported method is recorded but those that only read.
func overlay(t *testing.T) string {
	t.Helper()
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{filepath.Join(directory, "journal.go"): filepath.Join(directory, "journal_test.go")}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		recording := filepath.Join(to, source)
		if err := os.WriteFile(recording, instrumented(t, source), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(directory, source)] = recording
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(to, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// silenced are the names that what does not record has in its place.
var silenced = map[string]string{"State": "silent", "New": "newSilent"}

const recordingState = `
type State struct {
	*silent
	journal *journal
}

func New(ours func(scheduler string) bool) *State { return &State{newSilent(ours), recorded()} }
`

// instrumented returns a source file of the package in which State is called silent, with methods of a State that
// record it.
func instrumented(t *testing.T, source string) []byte {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, source, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var added strings.Builder
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if ok && function.Recv == nil && function.Name.Name == "New" {
			added.WriteString(recordingState)
		}
		if ok && function.Recv != nil && types.ExprString(function.Recv.List[0].Type) == "*State" &&
			function.Name.IsExported() && !reads(function) {
			added.WriteString(recordingOf(function))
		}
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && silenced[name.Name] != "" {
			name.Name = silenced[name.Name]
		}
		_, qualified := node.(*ast.SelectorExpr)
		return !qualified
	})
	var text bytes.Buffer
	if err := format.Node(&text, files, parsed); err != nil {
		t.Fatal(err)
	}
	text.WriteString(added.String())
	return text.Bytes()
}

// reads reports whether a method changes nothing.
func reads(method *ast.FuncDecl) (only bool) {
	if slices.Contains([]string{"Tree", "Status", "PodHelps"}, method.Name.Name) {
		return true
	}
	ast.Inspect(method.Body, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		only = only || ok && selector.Sel.Name == "RLock"
		return true
	})
	return only
}

// recordingOf returns a method of the same name that records what the given one is asked and what it answers.
func recordingOf(method *ast.FuncDecl) string {
	named := func(fields *ast.FieldList, prefix string) (declared, names, pointers []string) {
		if fields == nil {
			return nil, nil, nil
		}
		for _, field := range fields.List {
			for range max(1, len(field.Names)) {
				name := fmt.Sprint(prefix, len(names))
				declared = append(declared, name+" "+types.ExprString(field.Type))
				names, pointers = append(names, name), append(pointers, ", &"+name)
			}
		}
		return declared, names, pointers
	}
	parameters, arguments, pointers := named(method.Type.Params, "p")
	declared, results, _ := named(method.Type.Results, "r")
	assign := ""
	if len(results) > 0 {
		assign = strings.Join(results, ", ") + " = "
	}
	name, call := method.Name.Name, fmt.Sprintf("s.silent.%s(%s)", method.Name.Name, strings.Join(arguments, ", "))
	return fmt.Sprintf(`
func (s *State) %s(%s) (%s) {
	if s.journal != nil {
		s.journal.begin("%s"%s)
		defer func() { s.journal.end(%s) }()
	}
	%s%s
	return
}
`, name, strings.Join(parameters, ", "), strings.Join(declared, ", "), name, strings.Join(pointers, ""),
		strings.Join(results, ", "), assign, call)
}
