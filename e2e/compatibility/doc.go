// Package compatibility reports whether what worked with a release goes on working: its tests compare the definitions of kinds, and it keeps each
// release's definitions and stored objects below testdata, as `make freeze` has written them.
package compatibility
