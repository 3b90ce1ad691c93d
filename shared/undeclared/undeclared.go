// Package undeclared finds what a program writes into a status and the cluster's older CRD does not declare:
// server-side apply refuses the whole status then.
package undeclared

import (
	"regexp"
	"strings"
)

var (
	field    = regexp.MustCompile(`\.status\.(\S+): field not declared in schema`)
	listItem = regexp.MustCompile(`\[[^\]]*\]`)
)

// Remove removes the fields of a status that an error of the API server calls undeclared, and reports whether there
// were any.
func Remove(status map[string]any, err error) bool {
	if err == nil {
		return false
	}
	removed := false
	for _, match := range field.FindAllStringSubmatch(listItem.ReplaceAllString(err.Error(), ""), -1) {
		removed = remove(status, strings.Split(match[1], ".")) || removed
	}
	return removed
}

// remove removes the field at a path of names from an object, or from each object of a list.
func remove(value any, path []string) bool {
	removed := false
	switch value := value.(type) {
	case map[string]any:
		if len(path) > 1 {
			return remove(value[path[0]], path[1:])
		}
		_, removed = value[path[0]]
		delete(value, path[0])
	case []any:
		for _, item := range value {
			removed = remove(item, path) || removed
		}
	}
	return removed
}
