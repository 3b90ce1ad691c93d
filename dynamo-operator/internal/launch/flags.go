package launch

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// flag is one command line flag; a flag without value stands alone.
type flag struct{ name, value string }

// otherNames are the other names of the frameworks' flags. vLLM's -n and -r are not here: in a line of shell they may
// belong to any program, and vLLM takes the last value of a flag.
var otherNames = map[string][]string{
	"--tensor-parallel-size":     {"-tp", "--tp-size"},
	"--pipeline-parallel-size":   {"-pp", "--pp-size"},
	"--data-parallel-size":       {"-dp"},
	"--data-parallel-size-local": {"-dpl"},
	"--data-parallel-start-rank": {"-dpr"},
	"--data-parallel-address":    {"-dpa"},
	"--data-parallel-rpc-port":   {"-dpp"},
	"--data-parallel-hybrid-lb":  {"-dph"},
	"--data-parallel-backend":    {"-dpb"},
	"--dist-init-addr":           {"--nccl-init-addr"},
}

// words are the words of the container's command line, including those in shell scripts, where a word may end without a
// space: 16; or 16||exit, or 16 at the end of a continued line. Flags are spelled as in the documentation: vLLM takes
// underscores for dashes.
func words(container *corev1.Container) []string {
	line := strings.FieldsFunc(strings.Join(slices.Concat(container.Command, container.Args), " "), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`;&|\`, r)
	})
	for i, word := range line {
		if name, value, joined := strings.Cut(word, "="); strings.HasPrefix(name, "--") {
			line[i] = strings.ReplaceAll(name, "_", "-")
			if joined {
				line[i] += "=" + value
			}
		}
	}
	return line
}

func hasFlag(words []string, name string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return isFlag(word, name)
	})
}

// isFlag reports whether a word is a flag by that name or another of its names, with or without a value behind it.
func isFlag(word, name string) bool {
	word, _, _ = strings.Cut(word, "=")
	return word == name || slices.Contains(otherNames[name], word)
}

// valueOf is the value of the first flag of that name among the words; empty where there is none.
func valueOf(words []string, name string) string {
	for i, word := range words {
		if !isFlag(word, name) {
			continue
		}
		_, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		return strings.Trim(value, `'"`)
	}
	return ""
}

// number is the value of a flag that is a number above 0, or 1.
func number(words []string, name string) int64 {
	if parsed, err := strconv.ParseInt(valueOf(words, name), 10, 32); err == nil && parsed > 0 {
		return parsed
	}
	return 1
}

// ranksOnNode is how many ranks a container has GPUs for. If its GPUs cannot be counted, as with a resource claim, all
// ranks are spread evenly.
func ranksOnNode(container *corev1.Container, ranks int64, nodes int32) int64 {
	if counted := gpus(container); counted > 0 {
		return counted
	}
	return (ranks + int64(nodes) - 1) / int64(nodes)
}

// gpus is the number of GPUs of a container; 0 if it is not known.
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
