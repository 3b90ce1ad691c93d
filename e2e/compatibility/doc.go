// Package compatibility checks that what worked with a release still works: its tests compare the definitions of kinds.
// It has each release's definitions and stored objects below testdata, written by `make freeze`.
package compatibility
