package main

import (
	"errors"
	"strings"
	"testing"
)

func TestAStepShowsEachStateOnce(t *testing.T) {
	var out strings.Builder
	shown := &progress{out: &out}
	err := shown.step("pods run", func(say func(string)) error {
		for _, state := range []string{"1 of 2", "1 of 2", "2 of 2"} {
			say(state)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "1 of 2\n"); got != 1 {
		t.Errorf("the state appears %d times:\n%s", got, out.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("colours in what is no terminal: %q", out.String())
	}
}

func TestAFailedStepIsNamedAndTimed(t *testing.T) {
	var out strings.Builder
	shown := &progress{out: &out}
	broken := errors.New("no room")
	err := shown.step("pods run", func(func(string)) error { return broken })
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "pods run: ") {
		t.Errorf("error %v does not name step and reason", err)
	}
	shown.table()
	if !strings.Contains(out.String(), "all of it") || !strings.Contains(out.String(), "✗") {
		t.Errorf("the step is missing:\n%s", out.String())
	}
}

func TestShorten(t *testing.T) {
	if got := shorten("  a\n b "); got != "a b" {
		t.Errorf("%q is not one line", got)
	}
	if got := []rune(shorten(strings.Repeat("ä", 300))); len(got) != 110 || got[109] != '…' {
		t.Errorf("%d runes, ending in %q", len(got), got[len(got)-1])
	}
}
