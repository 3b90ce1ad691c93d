# One verb per job; `make help` lists them.

MODULES := shared dynamo-operator grove-operator podgrouper kai-topology-plugin e2e
SUITES := $(filter-out internal,$(patsubst e2e/suites/%/,%,$(wildcard e2e/suites/*/)))
PROGRAMS := dynamo-operator grove-operator podgrouper kai-topology-plugin devcluster

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
DATE ?= $(shell git log -1 --format=%cs 2>/dev/null || echo unknown)
V := packtree.dev/shared/version
LDFLAGS := -X $(V).version=$(VERSION) -X $(V).commit=$(COMMIT) -X $(V).date=$(DATE)

export CGO_ENABLED := 0
export KUBEBUILDER_ASSETS := $(CURDIR)/bin/tools

.DEFAULT_GOAL := help
.PHONY: help generate tidy lint build build-standalone tools test test-modules verify e2e e2e-kind demo binaries images freeze release-check release matrix clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build tools ## the whole path on a real control plane: examples applied, packed, checked, drawn (KEEP=1 leaves it up)
	go run ./e2e/cmd/demo

test: verify lint build-standalone test-modules e2e ## everything that proves the project

build: ## the six programs into bin/, and the kubectl plugin, which is one of them under another name
	go build -ldflags '$(LDFLAGS)' -o bin/ \
		$(foreach p,$(filter-out devcluster,$(PROGRAMS)),./$(p)/cmd/$(p)) ./grove-operator/cmd/grove-startup ./e2e/cmd/devcluster
	@ln -sf kai-topology-plugin bin/kubectl-packtree

binaries: ## static programs (IMAGES, PLATFORMS) into dist/, the same bytes wherever they are built
	@.ci/images binaries

images: ## an image of each program for PLATFORMS, with SBOM, into dist/images, or with PUSH=1 to REGISTRY (needs docker buildx)
	@.ci/images images

release-check: build tools ## what files of a CHANGELOG ask for can be released (MODULE=… for one): rules, build and tests
	go run ./e2e/cmd/release check $(if $(MODULE),--module $(MODULE))

release: ## says what a release would publish; with PUSH=1 REGISTRY=… images, charts and tags go out (MODULE, REMOTE, BRANCH)
	@e2e/tools/build.sh helm
	go run ./e2e/cmd/release run $(if $(MODULE),--module $(MODULE)) $(if $(PUSH),--push) $(if $(REGISTRY),--registry $(REGISTRY)) \
		$(if $(REMOTE),--remote $(REMOTE)) $(if $(BRANCH),--branch $(BRANCH))

space := $(subst ,, )
list = ["$(subst $(space),"$(comma)",$(strip $(1)))"]
comma := ,

matrix: ## modules and suites as JSON lists, for jobs that each do one (into GITHUB_OUTPUT if that is set)
	@printf '%s\n' 'modules=$(call list,$(MODULES))' 'suites=$(call list,$(SUITES))' >>"$${GITHUB_OUTPUT:-/dev/stdout}"

tools: ## etcd, kube-apiserver, kube-controller-manager, kubectl, KWOK and helm into bin/tools (minutes the first time)
	@e2e/tools/build.sh

generate: ## deep copies, CRDs, clients and docs/api from the API types; the tables of values in the charts' READMEs
	shared/api/generate.sh
	go run ./e2e/cmd/valuetables charts/*

tidy: ## go.mod and go.sum of every module, with the versions that all of them together use
	go work sync
	@for m in $(MODULES) e2e/tools e2e/tools/codegen e2e/tools/lint e2e/tools/promql e2e/tools/workflows; do echo "tidy $$m"; (cd $$m && GOWORK=off go mod tidy) || exit 1; done

lint: bin/golangci-lint ## golangci-lint, import rules included, and helm lint through the chart tests
	@for m in $(MODULES); do echo "lint $$m"; (cd $$m && ../bin/golangci-lint run --allow-parallel-runners ./...) || exit 1; done

bin/golangci-lint: e2e/tools/lint/go.mod
	@echo "building golangci-lint (minutes the first time)"
	@GOWORK=off go -C e2e/tools/lint build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

build-standalone: ## each module by itself, as a release builds it
	@for m in $(MODULES); do echo "build $$m with GOWORK=off"; (cd $$m && GOWORK=off go build ./... && GOWORK=off go vet ./...) || exit 1; done

test-modules: build tools ## the tests of every module, or of MODULES, but the e2e suites
	go test -timeout 30m $$(go list $(MODULES:%=./%/...) | grep -v ^packtree.dev/e2e/suites/)
ifneq ($(filter e2e,$(MODULES)),)
	GOWORK=off go -C e2e/tools test ./...
	GOWORK=off go -C e2e/tools/promql test -count=1 ./...
	GOWORK=off go -C e2e/tools/workflows test -count=1 ./...
endif

e2e: build tools ## the e2e suites, or SUITES, on a dev cluster (or on KUBECONFIG)
	go test -count=1 -p 1 -timeout 30m $(SUITES:%=./e2e/suites/%/...)

e2e-kind: build tools ## the suite wholepath on a cluster of kind, with images of this checkout (needs docker buildx and kind)
	@PLATFORMS=linux/$$(go env GOARCH) .ci/images images
	E2E_CLUSTER=kind go test -count=1 -timeout 30m ./e2e/suites/wholepath

verify: ## generated files and go.mod files are what the sources say
	.ci/verify

freeze: build tools ## the CRDs of RELEASE=vX.Y.Z, and objects as its programs store them, into e2e/compatibility/testdata: once, with the release
	go run ./e2e/cmd/freeze $(RELEASE)

clean: ## remove what was built
	rm -rf bin dist
