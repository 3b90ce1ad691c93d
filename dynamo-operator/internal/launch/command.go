package launch

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

var (
	python    = regexp.MustCompile(`^python[0-9.]*$`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
)

// flag is one command line flag; a flag without value stands alone.
type flag struct{ name, value string }

// addFlags gives the flags to the command that starts the framework. Flags that the user has set stay the user's.
// A value that the pod computes takes a shell.
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

// startsPython reports whether the container's words are a command line of a Python interpreter, each word an element.
// An image with an entrypoint of its own may have it in the args.
func startsPython(container *corev1.Container) bool {
	line := slices.Concat(container.Command, container.Args)
	return len(line) > 0 && python.MatchString(path.Base(line[0]))
}

// runInShell replaces the command line. A command that the image has stays in front.
func runInShell(container *corev1.Container, script string) {
	if len(container.Command) == 0 && len(container.Args) > 0 {
		container.Args = []string{"sh", "-c", script}
		return
	}
	container.Command, container.Args = []string{"sh", "-c"}, []string{script}
}

// shellLine is the container's whole command line as a line of shell.
func shellLine(container *corev1.Container) string {
	line := slices.Concat(container.Command, container.Args)
	if script, ok := shellScript(line); ok {
		return script
	}
	quoted := make([]string, len(line))
	for i, word := range line {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// shellScript returns the script of a line like sh -c SCRIPT.
func shellScript(line []string) (string, bool) {
	if len(line) != 3 || !slices.Contains([]string{"sh", "bash", "dash"}, path.Base(line[0])) {
		return "", false
	}
	return line[2], strings.HasPrefix(line[1], "-") && strings.HasSuffix(line[1], "c")
}

// quote makes one word of shell out of any string. References to the pod's variables, $(NAME), are resolved before the
// shell sees them, also in quotes.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// insertBehindModule puts text behind the framework's module in the first element that starts it. The container stays
// as it is where none does.
func insertBehindModule(framework v1beta1.BackendFramework, container *corev1.Container, text string) {
	element, end, found := moduleLine(framework, container)
	if found {
		*element = (*element)[:end] + " " + text + (*element)[end:]
	}
}

// moduleLine finds the element of the container's command line in which the framework is started, and where in it the
// module's name ends. The container's lists are made its own, so that the element may be changed.
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

// words are the words of the container's command line, those inside shell scripts too.
func words(container *corev1.Container) []string {
	return strings.Fields(strings.Join(slices.Concat(container.Command, container.Args), " "))
}

func hasFlag(words []string, name string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return word == name || strings.HasPrefix(word, name+"=")
	})
}

// number is the value of the first of the named flags that stands among the words, or 1.
func number(words []string, names ...string) int64 {
	for i, word := range words {
		for _, name := range names {
			value, joined := strings.CutPrefix(word, name+"=")
			if !joined && word == name && i+1 < len(words) {
				value, joined = words[i+1], true
			}
			if parsed, err := strconv.ParseInt(strings.Trim(value, `'"`), 10, 32); joined && err == nil && parsed > 0 {
				return parsed
			}
		}
	}
	return 1
}

// gpus is the number of GPUs of a container; 0 where it is not known, as with a resource claim.
func gpus(container *corev1.Container) int64 {
	var count int64
	for _, amounts := range []corev1.ResourceList{container.Resources.Limits, container.Resources.Requests} {
		for name, amount := range amounts {
			if strings.Contains(string(name), "gpu") {
				count = max(count, amount.Value())
			}
		}
	}
	return count
}
