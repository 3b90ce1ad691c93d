#!/usr/bin/env bash
# Bundles the page of `kubectl packtree view`: TypeScript and the npm packages that package-lock.json pins become one
# script and one style sheet, which are embedded in the program. The bundler is esbuild, a Go module.
#
# The first line of the script is a digest of the sources and of the bundler's version. Without npm, a bundle with the
# digest of the sources is left as it is, and any other is an error.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off LC_ALL=C
tools=$PWD page=$PWD/../../../kai-topology-plugin/internal/cli/view/page
bundle=$page/../bundle
cd "$page"

first="// Made from page, sources $({
	grep esbuild "$tools/go.mod"
	sha256sum package-lock.json index.html $(find src -type f | sort)
} | sha256sum | cut -d ' ' -f 1)"
if ! [ -x "$(command -v npm)" ]; then
	if [ "$(head -n 1 "$bundle/page.js")" = "$first" ]; then
		echo "page: npm is missing, so the bundle was not made again; it says that it is of these sources" >&2
		exit
	fi
	echo "page: the sources of the page have changed since it was bundled, and npm, which fetches what it is made of, is missing" >&2
	exit 1
fi

if ! cmp -s package-lock.json node_modules/.fetched; then
	npm ci --ignore-scripts --no-audit --no-fund
	cp package-lock.json node_modules/.fetched
fi
node node_modules/typescript/bin/tsc # Checks types; esbuild does not.

licences=
for name in d3-hierarchy preact; do
	licences+="$name:"$'\n\n'"$(<"node_modules/$name/LICENSE")"$'\n\n'
done
go -C "$tools" tool esbuild page="$page/src/main.tsx" page="$page/src/style.css" --outdir="$bundle" --bundle --minify \
	--format=iife --target=es2022 --charset=utf8 --jsx=automatic --jsx-import-source=preact --log-level=warning \
	--banner:js="$first"$'\n/*\n'"$licences*/"
cp index.html "$bundle"
