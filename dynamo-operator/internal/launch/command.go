package launch

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

var (
	python    = regexp.MustCompile(`^python[0-9.]*$`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
)

// addFlags adds flags to the command that starts the framework, except flags that the user has set. A value that the
// pod computes needs a shell.
func addFlags(framework v1beta1.BackendFramework, container *corev1.Container, flags []flag) {
	given := words(container)
	var added []string
	computed := false
	for _, flag := range flags {
		if hasFlag(given, flag.name) {
			continue
		}
		added = append(added, flag.name)
		if flag.value != "" {
			added = append(added, flag.value)
		}
		computed = computed || strings.HasPrefix(flag.value, "$((")
	}
	switch {
	case len(added) == 0:
	case !startsPython(container):
		insertBehindModule(framework, container, strings.Join(added, " "))
	case computed:
		runInShell(container, "exec "+shellLine(container)+" "+strings.Join(added, " "))
	default:
		container.Args = append(slices.Clone(container.Args), added...)
	}
}

// startsPython reports whether the container's words are the command line of a Python interpreter, each word an
// element. With the image's own entrypoint, the command line may be in the args.
func startsPython(container *corev1.Container) bool {
	line := slices.Concat(container.Command, container.Args)
	return len(line) > 0 && python.MatchString(path.Base(line[0]))
}

// runInShell replaces the command line by a shell with a script. The image's own command stays in front.
func runInShell(container *corev1.Container, script string) {
	if len(container.Command) == 0 && len(container.Args) > 0 {
		container.Args = []string{"sh", "-c", script}
		return
	}
	container.Command, container.Args = []string{"sh", "-c"}, []string{script}
}

// shellLine is the container's whole command line as one line of shell.
func shellLine(container *corev1.Container) string {
	line := slices.Concat(container.Command, container.Args)
	quoted := make([]string, len(line))
	for i, word := range line {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// runBefore makes a shell run a command before the container's own. A line of shell stays in the shell for which it was
// written.
func runBefore(container *corev1.Container, first string) {
	line := slices.Concat(container.Command, container.Args)
	if !isShellScript(line) {
		runInShell(container, first+" && "+shellLine(container))
		return
	}
	list := &container.Args
	if len(container.Args) == 0 {
		list = &container.Command
	}
	*list = slices.Clone(*list)
	(*list)[len(*list)-1] = first + " && " + line[2]
}

// isShellScript reports whether a line is like sh -c SCRIPT.
func isShellScript(line []string) bool {
	return len(line) == 3 && slices.Contains([]string{"sh", "bash", "dash"}, path.Base(line[0])) &&
		strings.HasPrefix(line[1], "-") && strings.HasSuffix(line[1], "c")
}

// quote makes one word of shell out of any string. Kubernetes resolves references to the pod's variables, $(NAME),
// before the shell sees them, also in quotes.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// insertBehindModule inserts text behind the framework's module in the first element that starts it. If none does, the
// container stays as it is.
func insertBehindModule(framework v1beta1.BackendFramework, container *corev1.Container, text string) {
	element, end, found := moduleLine(framework, container)
	if found {
		*element = (*element)[:end] + " " + text + (*element)[end:]
	}
}

// moduleLine finds the element of the container's command line that starts the framework, and the end of the module's
// name in it. The container's lists are copied, so that the element may be changed.
func moduleLine(framework v1beta1.BackendFramework, container *corev1.Container) (*string, int, bool) {
	module := modules[framework]
	if module == nil {
		return nil, 0, false
	}
	container.Command, container.Args = slices.Clone(container.Command), slices.Clone(container.Args)
	for _, list := range [][]string{container.Args, container.Command} {
		for i := range list {
			if at := module.FindStringIndex(list[i]); at != nil {
				return &list[i], at[1], true
			}
		}
	}
	return nil, 0, false
}
