// Package jsonfields says which JSON fields a Go type has, for error messages about objects that do not fit it.
package jsonfields

import (
	"reflect"
	"strings"
)

// Type returns the Go type of a JSON field of a struct; nil if parent is no struct or has no such field.
func Type(parent reflect.Type, name string) reflect.Type {
	if parent == nil || parent.Kind() != reflect.Struct {
		return nil
	}
	for i := range parent.NumField() {
		field := parent.Field(i)
		jsonName, inline := tag(field)
		if inline {
			if found := Type(pointedTo(field.Type), name); found != nil {
				return found
			}
			continue
		}
		if jsonName == name {
			return field.Type
		}
	}
	return nil
}

// Names returns the JSON fields of a struct, in the order of their declaration; none if parent is no struct.
func Names(parent reflect.Type) []string {
	if parent == nil || parent.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range parent.NumField() {
		jsonName, inline := tag(parent.Field(i))
		switch {
		case inline:
			names = append(names, Names(pointedTo(parent.Field(i).Type))...)
		case jsonName != "" && jsonName != "-":
			names = append(names, jsonName)
		}
	}
	return names
}

func pointedTo(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func tag(field reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, strings.Contains(options, "inline") || (field.Anonymous && name == "")
}
