package drawing

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBars(t *testing.T) {
	pen := &Pen{Bars: true}
	for name, test := range map[string]struct {
		used, unavailable, total float64
		want                     string
	}{
		"free":                              {0, 0, 8, "░░░░"},
		"full":                              {8, 0, 8, "████"},
		"a little is a cell":                {1, 0, 800, "█░░░"},
		"nearly full is not full":           {799, 0, 800, "███░"},
		"out of service":                    {4, 4, 8, "██▒▒"},
		"a little of each":                  {1, 1, 800, "█▒░░"},
		"little is free beside much out":    {1, 798, 800, "█▒▒░"},
		"nothing there, so nothing to draw": {0, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, pen.Bar(test.used, test.unavailable, test.total, 4))
		})
	}
}

func TestBarsAreOfTheirLengthAndShowWhatThereIs(t *testing.T) {
	pen, err := For(&bytes.Buffer{}, Always)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 1000).Draw(t, "total")
		used := rapid.IntRange(0, total).Draw(t, "used")
		out := rapid.IntRange(0, total-used).Draw(t, "out")
		cells := rapid.IntRange(3, 30).Draw(t, "cells")
		assert.Equal(t, cells, Width(pen.Bar(float64(used), float64(out), float64(total), cells)))
	})
}

func TestColoursAreUsedWhereTheyAreWanted(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for when, want := range map[When]string{Auto: "x", Never: "x", Always: "\x1b[1mx\x1b[22m"} {
		pen, err := For(&bytes.Buffer{}, when)
		require.NoError(t, err)
		assert.Equal(t, want, pen.Bold("x"), "--color %s, into a pipe", when)
	}
	_, err := For(&bytes.Buffer{}, "blue")
	assert.Error(t, err, "a colour of users' own is no value of --color")
}

func TestWrapBreaksBetweenWords(t *testing.T) {
	narrow := &Pen{Columns: 30}
	got, want := narrow.Wrap("- ", "  ", "one two three four five six seven"),
		"- one two three four five six\n  seven\n"
	assert.Equal(t, want, got)
	got, want = (&Pen{}).Wrap("- ", "  ", "into a pipe lines are as long as they are"),
		"- into a pipe lines are as long as they are\n"
	assert.Equal(t, want, got)
}
