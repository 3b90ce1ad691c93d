#!/bin/sh
# Runs a test binary, and says at the end how much CPU time it took, with all that it started and waited for.
# Of a binary that somebody else runs, go test asks for no list of the files that it reads, without which no result is remembered: it looks for
# the list beside the binary all the same.
binary=$1
shift
"$binary" -test.testlogfile="${binary%/*}/testlog.txt" "$@"
status=$?
# In a pipe, times would be that of a subshell.
times >"$0.$$"
{ read -r own; read -r children; } <"$0.$$"
rm -f "$0.$$"
echo "testrun: user and system: $children"
exit $status
