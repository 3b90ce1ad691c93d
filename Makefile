# One verb per job; `make help` lists them.

MODULES := shared dynamo-operator grove-operator podgrouper kai-topology-plugin e2e
# Tools are modules apart, so that what they need is not asked of the programs. Those of e2e/tools have the programs' versions of what both need.
TOOL_MODULES := e2e/tools e2e/tools/codegen e2e/tools/gotestsum e2e/tools/kind e2e/tools/krew e2e/tools/kueue e2e/tools/lint e2e/tools/page e2e/tools/promql e2e/tools/vulncheck e2e/tools/workflows
# The longest suites come first, for several run at once.
LONG := endure docs rights life scheduler compatibility charts releases
# So do packages that take long, many of them waiting.
LONG_PACKAGES := kai-topology-plugin/internal/scheduler/schedulerserver grove-operator/internal/controller dynamo-operator/internal/controller podgrouper/internal/controller \
	grove-operator/internal/faults shared/packing
# The suite kind needs nodes, which a script makes where it can.
NODES := $(CURDIR)/e2e/tools/kind/e2e.sh
# Another version of Kubernetes is tested by the suites in which its API server and controllers take part.
SUITES := $(if $(KUBERNETES),wholepath life scheduler rights,$(LONG) $(filter-out internal kind $(LONG),$(patsubst e2e/suites/%/,%,$(wildcard e2e/suites/*/))))
PROGRAMS := dynamo-operator grove-operator podgrouper kai-topology-plugin devcluster

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
DATE ?= $(shell git log -1 --format=%cs 2>/dev/null || echo unknown)
V := packtree.dev/shared/version
# kube-scheduler says by which Kubernetes it is, in its log and at /version.
KUBE_SCHEDULER := $(shell sed -n 's/^\tk8s.io\/kubernetes \(v[^ ]*\).*/\1/p' kai-topology-plugin/go.mod)
LDFLAGS := -X $(V).version=$(VERSION) -X $(V).commit=$(COMMIT) -X $(V).date=$(DATE) -X k8s.io/component-base/version.gitVersion=$(KUBE_SCHEDULER)

export CGO_ENABLED := 0
# The version of the control plane that tests run on; that of e2e/tools/go.mod if empty.
export KUBERNETES
export KUBEBUILDER_ASSETS := $(CURDIR)/bin/tools$(KUBERNETES:%=-%)

# time is a word of bash. What a pipe ends with is what its first program says.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help generate tidy lint build build-standalone tools ci test test-modules verify e2e e2e-crashes e2e-mpi e2e-kind demo endure fuzz vulncheck binaries images plugin freeze release-check release matrix clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: TOOLS = etcd kube-apiserver kube-controller-manager kwok helm
demo: build tools ## the whole path on a real control plane: examples applied, packed, checked, drawn (KEEP=1 leaves it up)
	go run ./e2e/cmd/demo

ci: verify lint build-standalone test ## everything that proves the project, as .ci/run does on a clean clone

test: build tools bin/tests ## the tests of all modules, then the e2e suites, and at last the suite kind, for root on Debian
	@time $(MAKE) --no-print-directory --keep-going test-modules e2e
	@if $(NODES) possible; then time $(MAKE) --no-print-directory e2e-kind; fi

build: ## the seven programs into bin/
	go build -ldflags '$(LDFLAGS)' -o bin/ \
		$(foreach p,$(filter-out devcluster,$(PROGRAMS)),./$(p)/cmd/$(p)) ./grove-operator/cmd/grove-startup ./kai-topology-plugin/cmd/kubectl-packtree \
		./e2e/cmd/devcluster

binaries: ## static programs (IMAGES, PLATFORMS) into dist/, the same bytes wherever they are built
	@.ci/images binaries

images: ## an image of each program for PLATFORMS, with SBOM, into dist/images, or with PUSH=1 to REGISTRY (needs docker buildx)
	@.ci/images images

plugin: ## archives of the kubectl plugin (PLATFORMS) and its Krew manifest into dist/krew; DOWNLOADS is where people fetch the archives
	@.ci/images plugin

release-check: build tools ## what files of a CHANGELOG ask for can be released (MODULE=… for one): rules, build and tests
	go run ./e2e/cmd/release check $(if $(MODULE),--module $(MODULE))

release: ## says what a release would publish; with PUSH=1 REGISTRY=… images, charts and tags go out, with SIGN=1 signed, with DOWNLOADS a draft with the kubectl plugin (MODULE, REMOTE, BRANCH)
	@e2e/tools/build.sh helm
	go run ./e2e/cmd/release run $(if $(MODULE),--module $(MODULE)) $(if $(PUSH),--push) $(if $(SIGN),--sign) $(if $(REGISTRY),--registry $(REGISTRY)) $(if $(DOWNLOADS),--downloads $(DOWNLOADS)) \
		$(if $(REMOTE),--remote $(REMOTE)) $(if $(BRANCH),--branch $(BRANCH))

space := $(subst ,, )
comma := ,
joined = $(subst $(space),$(comma),$(strip $(1)))
list = ["$(subst $(comma),"$(comma)",$(call joined,$(1)))"]

matrix: ## modules and suites as JSON lists, for jobs that each do one (into GITHUB_OUTPUT if that is set)
	@printf '%s\n' 'modules=$(call list,$(MODULES))' 'suites=$(call list,$(SUITES))' >>"$${GITHUB_OUTPUT:-/dev/stdout}"

tools: ## etcd, kube-apiserver, kube-controller-manager, kubectl, KWOK, helm and Kueue into bin/tools (minutes the first time)
	@e2e/tools/build.sh $(TOOLS)

generate: ## deep copies, CRDs, clients and docs/api from the API types; the tables of values in the charts' READMEs; the page of view
	shared/api/generate.sh
	go test -count=1 -vet=off ./e2e/suites/charts -run '^TestValueTables$$' -update
	@e2e/tools/page/bundle.sh

tidy: ## go.mod and go.sum of every module, with the versions that the programs and the tools of e2e/tools use together
	@directory=$$(mktemp -d) && export GOWORK=$$directory/go.work && go work init $(MODULES:%=./%) ./e2e/tools && go work sync; rm -r $$directory
	@for m in $(MODULES) $(TOOL_MODULES); do echo "tidy $$m"; (cd $$m && GOWORK=off go mod tidy) || exit 1; done
	go work sync

lint: bin/golangci-lint ## golangci-lint, import rules included, and helm lint through the chart tests
	@for m in $(MODULES); do echo "lint $$m"; (cd $$m && ../bin/golangci-lint run --allow-parallel-runners ./...) || exit 1; done

bin/golangci-lint: e2e/tools/lint/go.mod
	@echo "building golangci-lint (minutes the first time)"
	@GOWORK=off go -C e2e/tools/lint build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# go list with -export compiles packages and their tests as go build and go test do, and links nothing.
build-standalone: ## each module and its tests by itself, as a release builds it
	@for m in $(MODULES); do echo "build $$m with GOWORK=off"; (cd $$m && GOWORK=off go list -test -export -f '' ./... >/dev/null) || exit 1; done

# All output is in bin/tests. At most three failed tests run again, alone; what passes then is flaky, and is named at the end.
# The limit of memory is for each program that a test starts, API servers among them.
TESTS = GOGC=400 GOMEMLIMIT=700MiB bin/gotestsum --format-hide-empty-pkg --hide-summary=skipped --rerun-fails=1 --rerun-fails-run-root-test \
	--rerun-fails-max-failures=3 --rerun-fails-report=bin/tests/$@-again.txt --jsonfile=bin/tests/$@.json
# Says at the end which tests are flaky and which are slow, whether all passed or not. A package that failed outside of its tests has none to run again:
# gotestsum takes that for success, so it is found here.
tested = rm -f bin/tests/$@-again.txt; status=0; $(1) || status=$$?; \
	if [ -s bin/tests/$@-again.txt ]; then echo "failed, and ran again alone:"; cat bin/tests/$@-again.txt; fi; \
	awk '/"Action":"fail"/ {match($$0, /"Package":"[^"]*"/); name = substr($$0, RSTART + 11, RLENGTH - 12); if (/"Test":"/) tests[name]; else failed[name]} \
		END {for (name in failed) if (!(name in tests)) {print "FAIL " name " failed outside of its tests"; bad = 1} exit bad}' bin/tests/$@.json || status=1; \
	echo "slowest:"; bin/gotestsum tool slowest --num=10 --threshold=1s --jsonfile=bin/tests/$@.json; exit $$status
# A line for each package as it ends, or for each story of a suite, with what it took.
packages = $(call tested,$(TESTS) --format=pkgname-and-test-fails --packages="$(1)" -- $(2))
stories = $(call tested,$(TESTS) --format=testname --packages="$(1)" -- $(2) | grep --line-buffered -vE '^PASS [^ ]*\.Test[^ /]*/[^ ]*/')
# Vetting is left to make lint, which need not load all of Kubernetes for it.
GO_TEST = -vet=off -timeout=60m
PACKAGES = $$(go list $(addprefix ./,$(filter $(MODULES:%=%/%),$(LONG_PACKAGES))) $(MODULES:%=./%/...) | grep -v ^packtree.dev/e2e/suites/)
TESTED_TOOLS = $(if $(filter e2e,$(MODULES)),e2e/tools/kind e2e/tools/promql)

bin/gotestsum: e2e/tools/gotestsum/go.mod
	@GOWORK=off go -C e2e/tools/gotestsum build -o $(CURDIR)/$@ gotest.tools/gotestsum

bin/tests: bin/gotestsum
	@mkdir -p $@

test-modules: build tools bin/tests ## the tests of every module, or of MODULES, but the e2e suites
	@$(call packages,$(PACKAGES),$(GO_TEST))
	@for m in $(TESTED_TOOLS); do GOWORK=off go -C $$m test $(GO_TEST) ./... || exit 1; done

# Suites test programs and charts, which go does not see: their results are not cached.
e2e: build tools bin/tests ## the e2e suites, or SUITES, each on a dev cluster of its own, CLUSTERS at once, or as many as cores; KUBERNETES=1.35.4: four suites on that version
	@$(call stories,$(SUITES:%=./e2e/suites/%),$(GO_TEST) -count=1 $(if $(CLUSTERS),-p=$(CLUSTERS)))

e2e-crashes: build tools bin/tests ## the stories of the suite life, each also with an operator that is killed half-way, and every fault of every API call
	@export E2E_CRASHES=all; $(call stories,./e2e/suites/life ./grove-operator/internal/faults,$(GO_TEST) -count=1)

endure: build tools bin/tests ## a campaign of faults for LENGTH (10m) with SEED (1) and RATE (1) times the faults: programs, control plane, API calls, nodes; output in bin/tests/endure.txt, the programs' logs beside it if a promise was broken
	@go test -artifacts -outputdir=$(CURDIR)/bin/tests -count=1 -v -vet=off -timeout=0 ./e2e/suites/endure -endure.length=$(or $(LENGTH),10m) -endure.seed=$(or $(SEED),1) -endure.rate=$(or $(RATE),1) 2>&1 | tee bin/tests/endure.txt

# A corpus grows in Go's cache. Inputs are hardly minimized: mutants are small, and the time is for new ones.
# Only the code that reads the input is instrumented: the engine sends the counters of all instrumented code back and
# forth ten times a second.
fuzz: INSTRUMENTED = packtree.dev go.yaml.in
fuzz: ## every fuzz target (TARGETS=FuzzDecide) in turn, for LENGTH (1m) each; an input that fails one is left in its testdata
	@grep -rHo --include='*_test.go' '^func $(or $(TARGETS),Fuzz[A-Za-z]*)' $(MODULES) | sort | { status=0; while IFS=: read -r file target; do \
		result=ok; dir=$${file%/*} target=$${target#func }; printf '%-52s' "$$dir $$target"; \
		said=$$(go -C $$dir test -vet=off -c $(foreach p,$(INSTRUMENTED),-gcflags=$(p)/...=-d=libfuzzer) -o $(CURDIR)/bin/fuzz.test . && \
			cd $$dir && GOGC=400 $(CURDIR)/bin/fuzz.test -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(or $(LENGTH),1m) -test.fuzzminimizetime 5x \
			-test.fuzzcachedir "$$(go env GOCACHE)/fuzz/packtree.dev/$$dir" 2>&1) || result=FAILED; \
		printf '%12s executions  %s\n' "$$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' <<<"$$said" | tail -n1)" $$result; \
		if [ $$result = FAILED ]; then status=1; grep -v elapsed <<<"$$said"; fi; done; exit $$status; }

e2e-mpi: build ## TensorRT-LLM's leader and worker by a real Open MPI between two network namespaces; without root one line says that it was skipped
	e2e/mpi/run

e2e-kind: build tools bin/tests ## real nodes and images: the suite kind on a cluster of kind, which needs Docker, or root on Debian (E2E_KIND_IMAGE, E2E_KIND_CONFIG)
	@$(call stories,./e2e/suites/kind,-vet=off -timeout=80m -exec=$(NODES) -count=1)

vulncheck: build bin/govulncheck ## known vulnerabilities in what the programs call, by the database of Go; fails if a later version of a module lacks them
	@e2e/tools/vulncheck/check.sh $(filter-out devcluster,$(PROGRAMS)) grove-startup kubectl-packtree

bin/govulncheck: e2e/tools/vulncheck/go.mod
	@GOWORK=off go -C e2e/tools/vulncheck build -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck

verify: ## generated files and go.mod files are what the sources say
	.ci/verify

freeze: build tools ## the CRDs of RELEASE=vX.Y.Z, and objects as its programs store them, into e2e/compatibility/testdata: once, with the release
	go test -tags freeze -count=1 -v -vet=off -timeout=30m ./e2e/suites/compatibility -run '^TestFreeze$$' -freeze $(or $(RELEASE),none)

clean: ## remove what was built
	rm -rf bin dist
