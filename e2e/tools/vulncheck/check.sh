#!/usr/bin/env bash
# Looks for known vulnerabilities in what the programs call. The database is that of Go, as the module golang.org/x/vulndb has it: a module
# proxy suffices. Fails if there is a release without one of them, and lists those releases in its last line.
set -euo pipefail
cd "$(dirname "$0")/../../.."
database=$(GOWORK=off go -C e2e/tools/vulncheck mod download -json golang.org/x/vulndb@latest | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
echo "vulncheck: ${database##*/}"
mended=
for program in "$@"; do
	if ! found=$(bin/govulncheck -mode binary -db "file://$database/data/osv" "bin/$program"); then
		echo "$found"
		mended+=" $(sed -n 's/.*Fixed in: \(\S*@\S*\)/\1/p' <<<"$found")"
	fi
done
if [ -n "${mended// /}" ]; then
	echo "vulncheck: raise, and run 'make tidy' (packages of the standard library: the lines toolchain, as CONTRIBUTING.md says):" \
		"$(tr ' ' '\n' <<<"$mended" | sort -u | xargs)" >&2
	exit 1
fi
