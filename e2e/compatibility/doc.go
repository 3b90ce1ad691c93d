// Package compatibility reports whether what worked with a release goes on working: it compares the definitions of kinds, and keeps each
// release's definitions and stored objects below testdata, as `make freeze` has written them.
package compatibility
