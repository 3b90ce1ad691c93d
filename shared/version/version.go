// Package version says which build of a program this is.
package version

import (
	"fmt"
	"runtime"
)

// Set when a program is linked.
var (
	version = "unknown"
	commit  = "unknown"
	date    = "unknown"
)

// String returns version, commit, date of the commit and toolchain on one line, for --version.
func String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s)", version, commit, date, runtime.Version())
}

// Fields returns the same by name: version, commit, date and goversion.
func Fields() map[string]string {
	return map[string]string{"version": version, "commit": commit, "date": date, "goversion": runtime.Version()}
}
