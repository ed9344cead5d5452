# make help lists the targets. Needed: Go, make, git. Nothing is installed
# outside this folder but Go's own caches.

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 30s
BINARY      := bin/probe-forensics
LDFLAGS     := -s -w -X github.com/probe-forensics/probe-forensics/cmd/internal/cli.version=$(VERSION)

export CGO_ENABLED = 0

.PHONY: help build demo test lint law generate queries cloud manifests fuzz race vuln eval mutation bench bench-quick bench-go release-snapshot reproducible clean FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/probe-forensics
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/probe-forensics

demo: build ## analyse the bundle that the repository ships
	$(BINARY) analyze fixtures/demo/bundle.tar.gz -o bin/demo

test: ## run all tests
	$(GO) test ./...

lint: law ## check format, vet, staticcheck and the import law
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

law: ## check which package imports which
	$(GO) test ./cmd/internal/law

generate: ## rewrite what is generated from the code
	$(GO) test ./cmd/internal/cli -run 'TestManualPage|TestReadme|TestCausePages|TestFormatsPage|TestProblemsPage|TestConfigSchema' -update
	$(GO) test ./report ./report/term ./report/parquetout -update
	$(GO) test ./cmd/internal/rulecases -run TestEvaluation -update
	$(GO) test ./cmd/internal/outputs -run "TestGoldenReports|TestFlavors" -update

queries: ## run the recipes of docs/queries.md in DuckDB; UPDATE=-update rewrites their results
	@if ! command -v "$${CC:-cc}" >/dev/null; then echo "no C compiler, which DuckDB needs: docs/queries.md stays unchecked"; \
	else cd docs/duckdb && CGO_ENABLED=1 $(GO) vet . && CGO_ENABLED=1 $(GO) test . $(UPDATE); fi

cloud: ## build bin/probe-forensics-cloud, which reads and writes object stores, and test it against a server of S3
	cd cmd/probe-forensics-cloud && $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o ../../$(BINARY)-cloud . && $(GO) vet ./... && $(GO) test ./...

manifests: ## check the manifests of docs/batch against the types of Kubernetes and AWS
	cd docs/batch && $(GO) vet . && $(GO) test .

fuzz: ## run every fuzz target for FUZZTIME (30s)
	.ci/fuzz $(FUZZTIME)

RECORDINGS ?= ../shared/corpus/lab
eval: ## count right verdicts on recordings (../shared) and cases, print it and write docs/evaluation.md
	$(GO) test ./cmd/internal/rulecases -run TestEvaluation -count 1 $(if $(wildcard $(RECORDINGS)/EXPECT.json),-recordings $(abspath $(RECORDINGS)),-update)
	@cat docs/evaluation.md

race: ## run the tests of concurrent code under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race ./parsers ./parsers/spill ./cmd/internal/progress
	CGO_ENABLED=1 $(GO) test -race ./cmd/internal/cli -run 'TestScripts/(fleet|shares)$$'

vuln: ## check against the Go vulnerability database
	.ci/vuln

mutation: ## damage all recordings (../shared), check, and write docs/reliability.md
	$(GO) test ./cmd/internal/mutation -rounds 6 -update -timeout 30m -v

reproducible: ## build twice in folders of other names, compare the bytes
	.ci/reproducible

release-snapshot: ## build the archives of a release in dist/, without a network
	.github/release/snapshot $(VERSION)

bench: build bin/gen bin/bench ## measure against peers, write docs/benchmarks.md (minutes, 12 GB of disk)
	bin/bench -install -o docs/benchmarks.md

bench-quick: build bin/gen bin/bench ## print the same ratios on small inputs, in less than a minute
	bin/bench -install -quick

bench-go: ## run the Go benchmarks of single steps
	$(GO) test -run '^$$' -bench . -benchmem ./...

bin/gen: FORCE
	$(GO) build -o $@ ./fixtures/gen

bin/bench: FORCE
	$(GO) build -o $@ ./cmd/internal/bench

clean: ## remove what make built
	rm -rf bin dist
