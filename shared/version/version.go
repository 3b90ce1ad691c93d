// Package version tells which build of a program this is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set when a program is linked.
var version = "unknown"

// String returns version, commit, date of the commit and toolchain on one line, for --version.
func String() string {
	commit, date := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				commit = setting.Value
			case "vcs.time":
				date = setting.Value
			}
		}
	}
	return fmt.Sprintf("%s (commit %s, %s, %s)", version, commit, date, runtime.Version())
}
