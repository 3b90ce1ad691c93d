package workflows

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

const repository = "../../.."

func TestTheWorkflowsOfThisRepository(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, ".github", "workflows", "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows %v, %v, want at least those of CI and of releases", files, err)
	}
	verbs := verbsOfMake(t)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, refusal := range judge(t, content, verbs) {
			t.Errorf("%s: %s", filepath.Base(file), refusal)
		}
	}
}

// uses is an action in the form of a step.
func uses(action string) string { return action + "@" + actions[action] }

// good is a workflow without mistakes, which the cases below spoil.
var good = `name: ci
on:
  push: {branches: [main]}
permissions:
  contents: read
jobs:
  one:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    strategy:
      matrix: {module: [shared]}
    steps:
      - uses: ` + uses("actions/checkout") + `
        with: {persist-credentials: false}
      - run: make lint test MODULES=${{ matrix.module }} PUSH=1
`

// publishing is a job that may write, and the job that it needs.
func publishing(needs, action string) string {
	return `  ` + needs + `:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - run: make test
  publish:
    needs: ` + needs + `
    runs-on: ubuntu-latest
    timeout-minutes: 5
    environment: release
    permissions: {contents: write}
    steps:
      - uses: ` + uses("actions/checkout") + `
      - uses: ` + action + "\n"
}

// CI runs the parts of make ci as jobs, with the tests split among them.
func TestTheWorkflowDoesAllThatMakeCIDoes(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^ci: ([a-z0-9 -]+) ##`).FindSubmatch(makefile)
	if parts == nil {
		t.Fatal("the Makefile does not say what ci is made of")
	}
	content, err := os.ReadFile(filepath.Join(repository, ".github", "workflows", "ci.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	workflow, errors := actionlint.Parse(content)
	if len(errors) > 0 {
		t.Fatal(errors)
	}
	run := Run(workflow)
	wanted := slices.DeleteFunc(strings.Fields(string(parts[1])), func(verb string) bool { return verb == "test" })
	for _, part := range append(wanted, "test-modules", "e2e", "e2e-crashes", "release-check", "e2e-kind") {
		if !slices.Contains(run, part) {
			t.Errorf("no job runs make %s", part)
		}
	}
}

func TestRules(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"a workflow as it should be": {"", "", ""},
		"a mistake that actionlint knows": {"runs-on: ubuntu-latest", "runs-on: ubuntu-oldest",
			`label "ubuntu-oldest" is unknown`},
		"a value that does not exist": {"matrix.module }}", "matrix.modul }}", `property "modul" is not defined`},
		"a script": {"make lint test MODULES=${{ matrix.module }} PUSH=1", "./deploy",
			`it runs "./deploy"`},
		"a script behind a verb":   {"PUSH=1", "&& ./deploy", "a step runs make with verbs and variables"},
		"a verb that is not there": {"make lint", "make deploy", "'make help' lists no such verb"},
		"make somewhere else":      {"PUSH=1\n", "PUSH=1\n        working-directory: e2e\n", "and nothing else"},
		"text of a stranger in a command": {"PUSH=1", "PUSH=${{ github.event.head_commit.message }}",
			"and nothing else"},
		"an unknown action": {"actions/checkout", "somebody/checkout", "it uses somebody/checkout@"},
		"an action by a tag": {uses("actions/checkout"), "actions/checkout@v4",
			"it uses actions/checkout@v4"},
		"an action by a branch": {uses("actions/checkout"), "actions/checkout@main",
			"it uses actions/checkout@main"},
		"a token that is left behind": {"        with: {persist-credentials: false}\n", "",
			"leaves a token behind"},
		"no word on permissions":           {"permissions:\n  contents: read\n", "", "does not say what it may do"},
		"permission to write for all jobs": {"contents: read", "contents: write", "it may write"},
		"permission for everything": {"permissions:\n  contents: read\n", "permissions: write-all\n",
			"it may write"},
		"a job that writes and nothing guards": {"    timeout-minutes: 5\n",
			"    timeout-minutes: 5\n    permissions: {contents: write}\n", "an environment that guards them"},
		"a job that may do everything": {"    timeout-minutes: 5\n",
			"    timeout-minutes: 5\n    environment: release\n    permissions: write-all\n",
			"name single permissions"},
		"a job that may write, guarded": {"jobs:\n", "jobs:\n" + publishing("check", uses("actions/setup-go")), ""},
		"a job that writes unchecked": {"jobs:\n",
			"jobs:\n" + strings.Replace(publishing("check", uses("actions/setup-go")), "    needs: check\n", "", 1),
			"let it need a job that checks"},
		"a job that writes what a cache has": {"jobs:\n",
			"jobs:\n" + publishing("check", uses("actions/cache")+"\n        with: {path: bin, key: a}"),
			"do without actions/cache"},
		"a job without an end":  {"    timeout-minutes: 5\n", "", "set timeout-minutes"},
		"a job with a late end": {"timeout-minutes: 5", "timeout-minutes: 600", "set timeout-minutes"},
		"the code of strangers": {"push: {branches: [main]}", "pull_request_target:",
			"it starts on pull_request_target"},
		"a container": {"    timeout-minutes: 5\n", "    timeout-minutes: 5\n    container: {image: something}\n",
			"has containers"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("the good workflow has no %q to spoil", test.old)
			}
			refusals := judge(t, []byte(strings.Replace(good, test.old, test.new, 1)), []string{"lint", "test"})
			switch {
			case test.want == "" && len(refusals) > 0:
				t.Errorf("refused: %v", refusals)
			case test.want != "" && !strings.Contains(strings.Join(refusals, "\n"), test.want):
				t.Errorf("refusals %q, want one with %q", refusals, test.want)
			}
		})
	}
}

// judge returns the findings of actionlint and of the rules.
func judge(t *testing.T, content []byte, verbs []string) []string {
	t.Helper()
	workflow, errors := actionlint.Parse(content)
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint("workflow.yaml", content, nil)
	if err != nil {
		t.Fatal(err)
	}
	var refusals []string
	for _, one := range append(errors, found...) {
		refusals = append(refusals, one.Error())
	}
	return append(refusals, Refusals(workflow, verbs)...)
}

var listed = regexp.MustCompile(`(?m)^  make ([a-z0-9-]+) `)

func verbsOfMake(t *testing.T) []string {
	t.Helper()
	help := exec.Command("make", "-s", "-C", repository, "--no-print-directory", "help")
	var output bytes.Buffer
	help.Stdout = &output
	if err := help.Run(); err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for _, match := range listed.FindAllStringSubmatch(output.String(), -1) {
		verbs = append(verbs, match[1])
	}
	return verbs
}
