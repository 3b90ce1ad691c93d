package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
)

// Moments are the overviews of a recording, packed for a page that has all of them: each is given by what of the one
// before is still so.
type Moments struct {
	before []string
	// at is where a line of the overview before is, the last one if it is there more than once.
	at   map[string]int
	sent [][]any
}

// Add adds the overview of the next moment, as JSON.
func (m *Moments) Add(overview []byte) {
	lines := linesOf(overview)
	parts := []any{}
	for i := 0; i < len(lines); {
		from, known := m.at[lines[i]]
		run := 0
		for known && i+run < len(lines) && from+run < len(m.before) && lines[i+run] == m.before[from+run] {
			run++
		}
		if run > 0 {
			parts = append(parts, [2]int{from, run})
			i += run
		} else {
			parts = append(parts, lines[i])
			i++
		}
	}
	m.sent = append(m.sent, parts)
	m.before, m.at = lines, make(map[string]int, len(lines))
	for i, line := range lines {
		m.at[line] = i
	}
}

// linesOf divides JSON before each object in a list: a gang, a node, a pod, a domain. What is said of one is one line,
// and a line is seldom there twice.
func linesOf(text []byte) (lines []string) {
	var open []byte
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch letter := text[i]; {
		case quoted && letter == '\\':
			i++
		case letter == '"':
			quoted = !quoted
		case quoted:
		case letter == '{' || letter == '[':
			if letter == '{' && len(open) > 0 && open[len(open)-1] == '[' {
				lines = append(lines, string(text[from:i]))
				from = i
			}
			open = append(open, letter)
		case letter == '}' || letter == ']':
			open = open[:len(open)-1]
		}
	}
	return append(lines, string(text[from:]))
}

// packed is all of it as text without markup.
func (m *Moments) packed() (string, error) {
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	if err := json.NewEncoder(writer).Encode(m.sent); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes()), nil
}
