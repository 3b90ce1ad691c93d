package docs_test

import (
	"strings"
	"testing"

	"packtree.dev/e2e/pages"
)

// TestAReaderNotices tries blocks that need no cluster, right and wrong ones: a mistake on a page must be found.
func TestAReaderNotices(t *testing.T) {
	root, _ := read(t)
	here := newReader(t, root, "/dev/null", map[string]string{"greet": "#!/bin/sh\necho hello\n"})
	for name, example := range map[string]struct {
		language, code string
		mark           pages.Mark
		says           string
	}{
		"a script that ends well":      {"sh", "greet\n", pages.Mark{}, ""},
		"a script that fails half-way": {"sh", "false\ngreet\n", pages.Mark{}, "exit status 1"},
		"a command that had no answer": {"sh",
			"test -e again || { touch again; echo context deadline exceeded; false; }\n", pages.Mark{}, ""},
		"a command that never has one": {"sh", "echo context deadline exceeded; false\n", pages.Mark{},
			"exit status 1"},
		"a pipe that fails in its middle":   {"sh", "greet | false | cat\n", pages.Mark{}, "exit status 1"},
		"an answer as it is shown":          {"console", "$ greet\nhello\n", pages.Mark{}, ""},
		"an answer that is shown otherwise": {"console", "$ greet\nhullo\n", pages.Mark{}, `lacks the line "hullo"`},
		"a command that fails":              {"console", "$ false\n", pages.Mark{}, "exit status 1"},
		"values of the chart": {"yaml", "components: {podgrouper: false}\n",
			pages.Mark{How: pages.ValuesOf, Detail: "packtree"}, ""},
		"values that the chart lacks": {"yaml", "component: {podgrouper: false}\n",
			pages.Mark{How: pages.ValuesOf, Detail: "packtree"}, "not allowed"},
		"input that is taken": {"yaml", "a: b\n", pages.Mark{How: pages.InputOf, Detail: "grep a"}, ""},
		"input that is turned down": {"yaml", "a: b\n", pages.Mark{How: pages.InputOf, Detail: "grep c"},
			"exit status 1"},
		"a configuration": {"yaml",
			"apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLevel: debug\n",
			pages.Mark{}, ""},
		"a configuration with a field that does not exist": {"yaml",
			"apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLevle: debug\n",
			pages.Mark{},
			"logLevle"},
		"a scheduler's configuration with a field that does not exist": {"yaml",
			"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofile: []\n", pages.Mark{},
			`unknown field`},
		"a part of a manifest that does not say of which": {"yaml", "spec: {}\n", pages.Mark{}, "not a whole manifest"},
		"a console without a command":                     {"console", "true\n", pages.Mark{}, "begins with"},
		"commands in a block of text":                     {"", "$ true\n", pages.Mark{}, "call it console"},
		"text":                                            {"", "true\n", pages.Mark{}, ""},
		"an indented block":                               {"indented", "true\n", pages.Mark{}, "nobody tries"},
		"a part of an example that does not exist": {"yaml", "a: b\n",
			pages.Mark{How: pages.PartOf, Detail: "nothing.yaml"}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			err := here.tries(t.Context(),
				pages.Block{Page: "p.md", Line: 1, Language: example.language, Code: example.code, Mark: example.mark})
			if (err != nil) != (example.says != "") || err != nil && !strings.Contains(err.Error(), example.says) {
				t.Errorf("got %v; want an error that says %q", err, example.says)
			}
		})
	}
}

func TestLooks(t *testing.T) {
	for command, want := range map[string]bool{
		"kubectl get pods": true, "kubectl -n packtree-system get deployments": true,
		"kubectl packtree explain a": true,
		"helm list":                  true,
		"kubectl delete pod a":       false, "helm upgrade a b": false, "kubectl apply -f get": false,
	} {
		if got := looks(command + " "); got != want {
			t.Errorf("looks(%q) = %t", command, got)
		}
	}
}
