// Package brief keeps messages for users short enough to be read, and to be taken by the API server.
package brief

import (
	"fmt"
	"strings"
	"unicode"
)

// Longest is the size of the longest message, in bytes: the API server takes no longer note of an event.
const Longest = 1024

const (
	// longestWord is the size of the longest word of a message that is too long, in bytes.
	longestWord = 96
	dots        = "…"
)

// Message returns a message of at most Longest bytes of valid UTF-8. A longer message first loses the middle of its
// long words, which are names and paths. If that is not enough, it loses the last entries of its list, and counts them:
// "…; and 7 more". Only if too little of a list is left, the message is cut between words.
func Message(message string) string {
	message = strings.ToValidUTF8(message, "?")
	if len(message) <= Longest {
		return message
	}
	if message = shortWords(message); len(message) <= Longest {
		return message
	}
	for _, separator := range []string{"; ", ", ", " and "} {
		if cut := shortList(message, separator); len(cut) > Longest/2 {
			return cut
		}
	}
	return message[:strings.LastIndexByte(message[:Longest-len(dots)], ' ')+1] + dots
}

// Plain returns a text of others without control characters: a terminal would take some of them for commands.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// shortWords leaves out the middle of long words: a path is known by both of its ends.
func shortWords(message string) string {
	const half = (longestWord - len(dots)) / 2
	words := strings.Split(message, " ")
	for i, word := range words {
		if len(word) > longestWord {
			words[i] = strings.ToValidUTF8(word[:half], "") + dots + strings.ToValidUTF8(word[len(word)-half:], "")
		}
	}
	return strings.Join(words, " ")
}

// shortList keeps the first entries of a list that is too long, and counts the others. It is empty if there is no room
// for the first entry.
func shortList(message, separator string) string {
	const counted = "and 1000000 more"
	joint := strings.TrimSuffix(separator, "and ")
	room := Longest - len(separator) - len(counted)
	end := strings.LastIndex(message[:room+len(separator)], separator)
	if end < 0 {
		return ""
	}
	more := strings.Count(message[end:], separator)
	return fmt.Sprintf("%s%sand %d more", message[:end], joint, more)
}

// Count returns a number of things in words.
func Count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
