// Package mutants makes objects of values that occur in no manifest out of manifests, for fuzzing. A fuzzer that
// changes bytes hardly gets past a parser; here bytes choose which values of an object change, so that most of what
// comes out is still read, and much of it is accepted.
package mutants

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// stepSize is how many bytes of a program make a step: what is done, at which value, with which other value.
const stepSize = 5

// mostSteps bounds programs: a long one says little that a few short ones do not.
const mostSteps = 12

// wild are values that code which trusts its input does not expect.
var wild = []any{
	nil, true, "", "0", "-1", "1", "a", "a/b", "%2F", "..", "9223372036854775808", "1e400", "NaN", "5m", "{}", "[]",
	"[{}]", `{"":-1}`, `{"":2147483647}`, "\x00", "\xff", "é\u202e", strings.Repeat("a", 63), strings.Repeat("b", 64),
	strings.Repeat("c.", 126) + "c", int64(0), int64(1), int64(-1), int64(2), int64(100), int64(math.MaxInt32),
	int64(math.MinInt32), int64(math.MaxInt64), int64(math.MinInt64), 0.5, 1e300, map[string]any{}, []any{},
	[]any{nil}, []any{[]any{}}, map[string]any{"": map[string]any{}},
}

// Of returns value, which consists of what JSON can have, as program changes it: each step puts a wild value, or
// another value of the same object, in place of one, or takes it away, or adds it to a list or a mapping, or does what
// the next step says inside of a text that is JSON. Mappings get one of keys, or one that some mapping of the object
// has. The same program does the same. The result shares with value what stays the same, so it is only to be read.
func Of(value any, keys []string, program []byte) any {
	changed, program := value, program[:min(len(program), mostSteps*stepSize)]
	for ; len(program) >= stepSize; program = program[stepSize:] {
		all := values(nil, changed)
		if len(all) > mostValues {
			break
		}
		at := int(binary.BigEndian.Uint16(program[1:])) % len(all)
		other := int(binary.BigEndian.Uint16(program[3:]))
		old, is := all[at], all[other%len(all)]
		switch program[0] % 6 {
		case 0:
			is = wild[other%len(wild)]
		case 1:
		case 2:
			is = gone{}
		case 3:
			known := append(slices.Clone(keys), keysIn(all)...)
			is = added(old, known[other%len(known)], wild[other/len(known)%len(wild)])
		case 4:
			if len(program) < 2*stepSize {
				continue
			}
			program = program[stepSize:]
			is = inside(old, keys, program[:stepSize])
		default:
			known := append(slices.Clone(keys), keysIn(all)...)
			is = added(old, known[at%len(known)], is)
		}
		changed = replaced(changed, &at, is)
	}
	if changed == (gone{}) {
		return nil
	}
	return changed
}

// inside changes the value that a text is in JSON. Other values stay.
func inside(old any, keys []string, program []byte) any {
	var value any
	text, is := old.(string)
	if !is || !strings.ContainsAny(text, "{[") || json.Unmarshal([]byte(text), &value) != nil {
		return old
	}
	written, err := json.Marshal(Of(value, keys, program))
	if err != nil {
		return old
	}
	return string(written)
}

// gone is in place of a value that its list or mapping is to lose.
type gone struct{}

// added returns a mapping with a value, or a list with one at its end; a text has it appended, if it is one.
func added(to any, key string, value any) any {
	switch to := to.(type) {
	case map[string]any:
		more := maps.Clone(to)
		more[key] = value
		return more
	case []any:
		return append(slices.Clip(to), value)
	case string:
		if more, text := value.(string); text {
			return to + more
		}
	}
	return to
}

// values appends a value and all below it to all, from outside in.
func values(all []any, root any) []any {
	all = append(all, root)
	switch root := root.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(root)) {
			all = values(all, root[key])
		}
	case []any:
		for _, value := range root {
			all = values(all, value)
		}
	}
	return all
}

func keysIn(all []any) []string {
	seen := map[string]bool{"": true}
	for _, value := range all {
		if fields, ok := value.(map[string]any); ok {
			for key := range fields {
				seen[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// replaced returns value with another one in place of the one with number at among its values; at is less than 0 then.
func replaced(value any, at *int, other any) any {
	*at--
	if *at < 0 {
		return other
	}
	switch old := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if inner := replaced(old[key], at, other); *at < 0 {
				return with(old, key, inner)
			}
		}
	case []any:
		for i := range old {
			if inner := replaced(old[i], at, other); *at < 0 {
				if inner == (gone{}) {
					return slices.Delete(slices.Clone(old), i, i+1)
				}
				changed := slices.Clone(old)
				changed[i] = inner
				return changed
			}
		}
	}
	return value
}

func with(fields map[string]any, key string, value any) any {
	changed := maps.Clone(fields)
	if changed[key] = value; value == (gone{}) {
		delete(changed, key)
	}
	return changed
}
