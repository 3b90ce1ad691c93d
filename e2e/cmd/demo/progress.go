package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// progress shows the steps and records how long each took.
type progress struct {
	out      io.Writer
	terminal bool
	steps    []timedStep
	shown    string
}

type timedStep struct {
	title string
	took  time.Duration
}

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
	return &progress{out: out, terminal: terminal}
}

// step runs one step. Text from the step appears below its title: in place on a terminal, otherwise as a line per
// change.
func (p *progress) step(title string, do func(say func(string)) error) error {
	started := time.Now()
	p.print(p.paint("1", "▸ "+title))
	err := do(p.say)
	took := time.Since(started)
	p.clear()
	p.steps = append(p.steps, timedStep{title: title, took: took})
	if err != nil {
		p.print(p.paint("31", fmt.Sprintf("  ✗ after %s", seconds(took))))
		return fmt.Errorf("%s: %w", title, err)
	}
	p.print(p.paint("32", "  ✓ ") + seconds(took))
	return nil
}

func (p *progress) say(state string) {
	if state == p.shown {
		return
	}
	p.shown = state
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[2K    %s", state)
		return
	}
	p.print("    " + state)
}

// clear removes the state line of a step from a terminal.
func (p *progress) clear() {
	if p.terminal && p.shown != "" {
		fmt.Fprint(p.out, "\r\x1b[2K")
	}
	p.shown = ""
}

func (p *progress) print(line string) {
	fmt.Fprintln(p.out, line)
}

func (p *progress) paint(code, text string) string {
	if !p.terminal {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// table prints how long each step took, and the sum.
func (p *progress) table() {
	writer := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var total time.Duration
	for _, step := range p.steps {
		fmt.Fprintf(writer, "%s\t%s\t\n", step.title, seconds(step.took))
		total += step.took
	}
	fmt.Fprintf(writer, "%s\t%s\t\n", "all of it", seconds(total))
	_ = writer.Flush()
}

func seconds(took time.Duration) string {
	return fmt.Sprintf("%.1f s", took.Seconds())
}

// shorten cuts a state to one line that fits most terminals.
func shorten(state string) string {
	const width = 110
	line := []rune(strings.Join(strings.Fields(state), " "))
	if len(line) <= width {
		return string(line)
	}
	return string(line[:width-1]) + "…"
}
