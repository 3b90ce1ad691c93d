// Package workflows checks the workflows of GitHub: make at home can do everything that they do, they use known actions
// only, and no job has more rights than it needs. It is a module by itself because of the parser.
package workflows

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"
)

// actions are those that may be used, each with the commit of one version: a tag can be moved.
var actions = map[string]string{
	"actions/checkout":           "11d5960a326750d5838078e36cf38b85af677262", // v4.4.0
	"actions/setup-go":           "40f1582b2485089dde7abd97c1529aa768e1baff", // v5.6.0
	"actions/cache":              "0057852bfaa89a56745cba8c7296529d2fc39830", // v4.3.0
	"docker/setup-buildx-action": "8d2750c68a42422c14e847fe6c8ac0403b4cbd6f", // v3.12.0
	"docker/login-action":        "c94ce9fb468520275223c153574b00df6fe4bcc9", // v3.7.0
	"actions/attest":             "1e69f48acb82d1966a394da916b4c1698aa569d6", // v4.2.2
	"sigstore/cosign-installer":  "6f9f17788090df1f26f669e9d70d6ae9567deba6", // v4.1.2
}

// events are those that may start a workflow. pull_request_target is not among them: it would run the code of strangers
// with the rights of this repository.
var events = []string{"pull_request", "push", "workflow_dispatch"}

// longest is how many minutes a job may take.
const longest = 120

// command is a call of make: verbs, and variables whose values are words or expressions of the workflow.
var command = regexp.MustCompile(`^make( [a-z0-9-]+)+( [A-Z]+=(\$\{\{ matrix\.[a-z]+ \}\}|[A-Za-z0-9-]+))*$`)

// Refusals says what is wrong with a workflow, given the verbs of make.
func Refusals(workflow *actionlint.Workflow, verbs []string) []string {
	var refusals []string
	for _, event := range workflow.On {
		if !slices.Contains(events, event.EventName()) {
			refusals = append(refusals,
				fmt.Sprintf("it starts on %s: only %s may start one", event.EventName(), strings.Join(events, ", ")))
		}
	}
	if workflow.Permissions == nil || writes(workflow.Permissions) {
		refusals = append(refusals,
			"it may write, or does not say what it may do: set permissions to contents: read, "+
				"and more for the one job that needs it")
	}
	for _, id := range slices.Sorted(maps.Keys(workflow.Jobs)) {
		for _, refusal := range refusalsOfJob(workflow.Jobs[id], verbs) {
			refusals = append(refusals, "job "+id+": "+refusal)
		}
	}
	return refusals
}

func refusalsOfJob(job *actionlint.Job, verbs []string) []string {
	var refusals []string
	if job.TimeoutMinutes == nil || job.TimeoutMinutes.Value <= 0 || job.TimeoutMinutes.Value > longest {
		refusals = append(refusals, fmt.Sprintf("it may hang for hours: set timeout-minutes to at most %d", longest))
	}
	if job.Permissions != nil && (job.Permissions.All != nil || job.Environment == nil && writes(job.Permissions)) {
		refusals = append(refusals,
			"it may write without asking: name single permissions, and an environment that guards them")
	}
	if mayWrite(job) && len(job.Needs) == 0 {
		refusals = append(refusals, "it may write before anything has been checked: let it need a job that checks")
	}
	if job.WorkflowCall != nil || job.Container != nil || job.Services != nil {
		refusals = append(refusals, "it calls another workflow, or has containers: make cannot do that at home")
	}
	for _, step := range job.Steps {
		switch does := step.Exec.(type) {
		case *actionlint.ExecRun:
			refusals = append(refusals, refusalsOfRun(does, verbs)...)
		case *actionlint.ExecAction:
			refusals = append(refusals, refusalsOfAction(does, job)...)
		}
	}
	return refusals
}

func refusalsOfRun(run *actionlint.ExecRun, verbs []string) []string {
	line := strings.TrimSpace(run.Run.Value)
	if !command.MatchString(line) || run.Shell != nil || run.WorkingDirectory != nil {
		return []string{fmt.Sprintf("it runs %q: a step runs make with verbs and variables, and nothing else", line)}
	}
	var refusals []string
	for _, word := range verbsOf(line) {
		if !slices.Contains(verbs, word) {
			refusals = append(refusals, fmt.Sprintf("it runs make %s: 'make help' lists no such verb", word))
		}
	}
	return refusals
}

func refusalsOfAction(action *actionlint.ExecAction, job *actionlint.Job) []string {
	name, version, _ := strings.Cut(action.Uses.Value, "@")
	if want, known := actions[name]; !known || version != want {
		return []string{fmt.Sprintf(
			"it uses %s: what may take part stands in e2e/tools/workflows/rules.go, with its commit",
			action.Uses.Value)}
	}
	if name == "actions/cache" && mayWrite(job) {
		return []string{"what it publishes would be made of a cache that others write: do without actions/cache"}
	}
	if name != "actions/checkout" || mayWrite(job) {
		return nil
	}
	if keeps := action.Inputs["persist-credentials"]; keeps == nil || keeps.Value.Value != "false" {
		return []string{"its checkout leaves a token behind that the job has no use for: set " +
			"persist-credentials to false"}
	}
	return nil
}

func mayWrite(job *actionlint.Job) bool { return job.Permissions != nil && writes(job.Permissions) }

// Run are the verbs of make that the steps of a workflow run.
func Run(workflow *actionlint.Workflow) []string {
	var verbs []string
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if run, ok := step.Exec.(*actionlint.ExecRun); ok {
				verbs = append(verbs, verbsOf(run.Run.Value)...)
			}
		}
	}
	return verbs
}

// verbsOf are the words of a call of make before its variables.
func verbsOf(line string) []string {
	words := strings.Fields(line)[1:]
	if first := slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "=") }); first >= 0 {
		words = words[:first]
	}
	return words
}

// writes is true for permissions that are more than reading, or that are not given one by one.
func writes(permissions *actionlint.Permissions) bool {
	if permissions.All != nil {
		return permissions.All.Value != "read-all" && permissions.All.Value != "none"
	}
	for _, scope := range permissions.Scopes {
		if scope.Value.Value == "write" {
			return true
		}
	}
	return false
}
