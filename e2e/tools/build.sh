#!/bin/sh
# Builds the named tools (without names: what the dev cluster and the tests run) into bin/tools, unless they are there
# already. GOWORK=off: the tools have their own versions, apart from the workspace's.
exec env GOWORK=off CGO_ENABLED=0 go -C "$(dirname "$0")" run . "$@"
