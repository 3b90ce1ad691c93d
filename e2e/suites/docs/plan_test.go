package docs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/pages"
	"packtree.dev/shared/manifests"
)

// action is what the test does with a block.
type action string

const (
	nothing   action = "nothing"
	apply     action = "apply"
	configure action = "configure"
	lay       action = "lay over an example"
	render    action = "render a chart"
	feed      action = "feed a command"
	script    action = "run as a script"
	converse  action = "run as a console"
)

// actionFor decides what to do with a block. A block that cannot be tested and does not say why is an error.
func actionFor(block pages.Block) (action, error) {
	switch block.Mark.How {
	case pages.NotRun:
		return nothing, nil
	case pages.PartOf:
		return lay, nil
	case pages.ValuesOf:
		return render, nil
	case pages.InputOf:
		return feed, nil
	case pages.ByLanguage:
	}
	switch block.Language {
	case "sh":
		return script, nil
	case "console":
		if len(pages.Exchanges(block.Code)) == 0 {
			return nothing, fmt.Errorf("%s: no line of this console begins with \"$ \"", block.At())
		}
		return converse, nil
	case "yaml":
		return actionForManifest(block)
	case "mermaid":
		return nothing, nil
	case "", "text":
		if strings.HasPrefix(block.Code, "$ ") || strings.Contains(block.Code, "\n$ ") {
			return nothing, fmt.Errorf("%s: a block with commands: call it console", block.At())
		}
		return nothing, nil
	}
	return nothing, fmt.Errorf(
		"%s: nobody tries a block of language %q: write sh, console, yaml, text or mermaid behind a fence, "+
			"or \"<!-- not run: REASON -->\" above it", block.At(), block.Language)
}

// configurations are the kinds that are files for programs.
var configurations = map[string]bool{"KubeSchedulerConfiguration": true, "OperatorConfiguration": true}

func actionForManifest(block pages.Block) (action, error) {
	var file struct {
		Kind string `json:"kind"`
	}
	if yaml.Unmarshal([]byte(block.Code), &file) == nil && configurations[file.Kind] {
		return configure, nil
	}
	if _, findings := manifests.Parse(block.At(), []byte(block.Code)); len(findings) > 0 {
		return nothing, fmt.Errorf(
			"%s: not a whole manifest (%s): if it is a part of one, say so with \"<!-- part of: FILE PATH -->\", "+
				"\"<!-- values of: CHART -->\" or \"<!-- not run: REASON -->\" above it", block.At(), findings[0])
	}
	return apply, nil
}

// alternatives are the parts of a block that stand for themselves: a line "# or" is between them.
func alternatives(code string) []string {
	var all []string
	var part strings.Builder
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) == "# or" {
			all = append(all, part.String())
			part.Reset()
			continue
		}
		part.WriteString(line)
	}
	return append(all, part.String())
}

// laidOver lays a part over the object at a path in an example's first document, and gives the document a name.
func laidOver(example []byte, path, part, name string) ([]byte, error) {
	first, _, _ := bytes.Cut(example, []byte("\n---"))
	var whole, over map[string]any
	if err := yaml.Unmarshal(first, &whole); err != nil {
		return nil, fmt.Errorf("reading the example: %w", err)
	}
	if err := yaml.UnmarshalStrict([]byte(part), &over); err != nil {
		return nil, fmt.Errorf("reading the part: %w", err)
	}
	at := whole
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		below, is := at[step].(map[string]any)
		if !is {
			return nil, fmt.Errorf("the example has nothing to lay a part over at %q", path)
		}
		at = below
	}
	lie(at, over)
	if metadata, is := whole["metadata"].(map[string]any); is {
		metadata["name"] = name
	}
	return yaml.Marshal(whole)
}

func lie(under, over map[string]any) {
	for key, value := range over {
		deeper, is := value.(map[string]any)
		if below, too := under[key].(map[string]any); is && too {
			lie(below, deeper)
			continue
		}
		under[key] = value
	}
}

// TestEveryBlockIsTried fails for untested blocks that do not say why.
func TestEveryBlockIsTried(t *testing.T) {
	_, all := read(t)
	counts := map[action]int{}
	for _, page := range all {
		for _, block := range page.Blocks {
			what, err := actionFor(block)
			if err != nil {
				t.Error(err)
			}
			counts[what]++
			if block.Mark.How == pages.NotRun {
				t.Logf("%s: not run: %s", block.At(), block.Mark.Detail)
			}
		}
	}
	t.Logf("blocks: %v", counts)
	if counts[apply] < 10 || counts[script] < 10 || counts[converse] < 5 {
		t.Errorf("too few blocks are tried to be all of them: %v", counts)
	}
}

func TestLaidOver(t *testing.T) {
	got, err := laidOver([]byte("metadata: {name: a}\nspec: {b: {c: 1, d: 2}}\n---\nkind: B\n"), "spec",
		"b: {c: 3}\n", "part")
	if want := "metadata:\n  name: part\nspec:\n  b:\n    c: 3\n    d: 2\n"; err != nil || string(got) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := laidOver([]byte("spec: {}\n"), "spec.template", "x: 1\n", "part"); err == nil {
		t.Error("a path that the example does not have must be an error")
	}
}
