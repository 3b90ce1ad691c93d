#!/usr/bin/env bash
# Looks for known vulnerabilities in what the programs call. The database is that of Go, as the module golang.org/x/vulndb has it: a module
# proxy suffices. Fails if there is a release without one of them.
set -euo pipefail
cd "$(dirname "$0")/../../.."
database=$(GOWORK=off go -C e2e/tools/vulncheck mod download -json golang.org/x/vulndb@latest | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
echo "vulncheck: ${database##*/}"
mended=
for program in "$@"; do
	if ! found=$(bin/govulncheck -mode binary -db "file://$database/data/osv" "bin/$program"); then
		echo "$found"
		mended+=$(grep -oE 'Fixed in: \S+@\S+' <<<"$found" || true)
	fi
done
if [ -n "$mended" ]; then
	echo "vulncheck: some of the above are mended in later versions, of Go itself where the standard library is named: raise these, and run 'make tidy'" >&2
	exit 1
fi
