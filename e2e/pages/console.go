package pages

import (
	"regexp"
	"strings"
)

// Exchange is a command in a block of a console, and the shown part of its output.
type Exchange struct {
	Command string
	Answer  []string
}

// Exchanges splits a block of a console: a line that begins with "$ " is a command, and so are the next lines while one
// ends in a backslash or a pipe. Text before the first command is no exchange.
func Exchanges(code string) []Exchange {
	var all []Exchange
	continues := false
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\n")
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			all = append(all, Exchange{Command: command})
		case len(all) == 0:
			continue
		case continues:
			all[len(all)-1].Command += "\n" + line
			command = line
		default:
			if strings.TrimSpace(line) != "" {
				all[len(all)-1].Answer = append(all[len(all)-1].Answer, line)
			}
			continue
		}
		continues = strings.HasSuffix(command, `\`) || strings.HasSuffix(strings.TrimSpace(command), "|")
	}
	return all
}

// Shows reports whether an output has everything that the page shows of it, in that order. Runs of blanks are equal,
// and "…" stands for anything: alone on a line for any number of lines.
func (e Exchange) Shows(output string) (missing string, ok bool) {
	lines := strings.Split(output, "\n")
	for _, wanted := range e.Answer {
		if strings.TrimSpace(wanted) == "…" {
			continue
		}
		found := -1
		for i, line := range lines {
			if matches(wanted, line) {
				found = i
				break
			}
		}
		if found < 0 {
			return wanted, false
		}
		lines = lines[found+1:]
	}
	return "", true
}

func matches(wanted, line string) bool {
	parts := strings.Split(strings.Join(strings.Fields(wanted), " "), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(parts[i]))
	}
	pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return pattern.MatchString(strings.Join(strings.Fields(line), " "))
}
