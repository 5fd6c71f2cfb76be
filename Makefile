# The product's own tasks. `make` alone prints this list.

SHELL := /bin/bash
ARCH  ?= $(shell go env GOARCH)
REPEAT ?= 20
KILLS ?= 200
ROUNDS ?= 21
ONLY ?=
RUNS ?= 50
ENGINE ?= docker
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
RUNNER := adapters/image/runner/bin/standard-code-runner-linux-$(ARCH)
WITH_ENGINE := testdata/engines/with-engine.sh
# What the demo brings up, by ENGINE. The base images are made with Docker.
DEMO_docker := docker
DEMO_containerd := docker containerd
DEMO_auto := docker? containerd

.DEFAULT_GOAL := help
.PHONY: help build runner demo transcript selftest conformance attacks growth test test/unit bench corpus lint cross verify generate dist engine/up engine/down clean

help: ## print this list
	@grep -hE '^[a-z/-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

runner: ## build the runner (PID 1 of the container), static
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $(RUNNER) ./cmd/standard-code-runner

build: runner ## build bin/cyberagent with the runner inside
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w -X main.version=$(VERSION)' -o bin/cyberagent ./cmd/cyberagent

demo: build ## bring up what is missing and run the main job on all four toolchains (ENGINE=docker|containerd|auto)
	@CYBERAGENT_ENGINE=$(ENGINE) CYBERAGENT_WITH_ENGINES='$(DEMO_$(ENGINE))' $(WITH_ENGINE) testdata/demo/demo.sh

transcript: ## run the demo and write what it prints to docs/demo.txt
	@$(MAKE) -s demo > docs/demo.txt.new
	@sed -e 's#$(HOME)#~#g' -e 's#/tmp/cyberagent-demo\.[A-Za-z0-9]*#/tmp/cyberagent-demo#g' docs/demo.txt.new > docs/demo.txt && rm docs/demo.txt.new

selftest: build ## kill executions and recoveries at every moment, REPEAT times each (20), then KILLS at random (200), on each engine, and write docs/selftest.md
	@$(WITH_ENGINE) testdata/engines/selftest.sh $(REPEAT) $(KILLS) docs/selftest.md

conformance: build ## run the engines' suite on every engine and write docs/conformance.md
	@$(WITH_ENGINE) go test ./adapters/conformance -count=1 -timeout 30m -v -conformance.doc=$(CURDIR)/docs/conformance.md | grep -vE '^ *(=== |--- PASS)'; exit $${PIPESTATUS[0]}

attacks: build ## try the catalogue of attacks on the engines and outside of them, and write docs/attacks.md
	@$(WITH_ENGINE) go test ./adapters/conformance -count=1 -timeout 15m -run TestEveryAttackIsBlockedOrHarmless -attacks.doc=$(CURDIR)/docs/attacks.md

growth: build ## measure how far the fastest writers come beyond the quota, RUNS times each (50), and write docs/growth.md
	@$(WITH_ENGINE) sh -c 'go test ./internal/e2e -count=1 -timeout 3h -run TestLimits_GrowthThatNoNameShowsEnds -unnamed.runs=$(RUNS) -unnamed.doc=$(CURDIR)/bin/growth-unnamed.md -v && \
		go test ./adapters/conformance -count=1 -timeout 3h -run TestGrowthIsStopped -growth.runs=$(RUNS) -growth.unnamed=$(CURDIR)/bin/growth-unnamed.md -growth.doc=$(CURDIR)/docs/growth.md -v'

test: build verify cross ## run every test against the real engine; starts and stops what it needs
	@$(WITH_ENGINE) go test -timeout 60m ./...

test/unit: ## run the tests that need no engine
	@go test ./domain/... ./app/... ./config/... ./internal/archtest/... ./internal/cleantext/... ./adapters/ledger/... ./adapters/gitdrydock/... ./adapters/host/...

corpus: build ## run real projects with plain and project images on both engines and write docs/corpus.md (ONLY=regexp; goes on where it was, AGAIN=1 does not)
	@CYBERAGENT_WITH_ENGINES='docker containerd' $(WITH_ENGINE) go run ./internal/corpus -cache $${CYBERAGENT_DEV_HOME:-$${XDG_CACHE_HOME:-$$HOME/.cache}/cyberagent-dev}/corpus -only '$(ONLY)' $(if $(AGAIN),-again) -doc docs/corpus.md

bench: build ## measure beside docker run, ctr run and git, ROUNDS times each (21), and write docs/benchmarks.md
	@CYBERAGENT_WITH_ENGINES='docker containerd' CYBERAGENT_BENCH_BINARY=bin/cyberagent $(WITH_ENGINE) go run ./internal/bench -rounds $(ROUNDS) -only '$(ONLY)' -doc docs/benchmarks.md

lint: ## run the linter (builds it on first use)
	@go run $(GOLANGCI) run ./...

cross: ## compile the command for the other systems
	@for os in windows darwin; do echo "build $$os"; GOOS=$$os CGO_ENABLED=0 go build -buildvcs=false -o /dev/null ./cmd/cyberagent || exit 1; done

generate: ## write generated files anew
	@go run ./internal/seccompgen domain/isolation/seccomp.v2.json
	@go run ./internal/limitsdoc docs/limits.md
	@go test ./cmd/cyberagent -run 'Schemas|ManPage' -update >/dev/null

verify: ## fail when formatting or a generated file is stale
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not formatted:"; echo "$$out"; exit 1; fi
	@go vet ./...

dist: ## build packages, binaries, SBOMs and checksums into dist/; the same bytes every time
	@cmd/cyberagent/packaging/dist.sh $(VERSION)

engine/up: ## start the development engines and leave them running
	@testdata/engines/docker.sh up && testdata/engines/containerd.sh up && testdata/engines/containerd.sh --debian up

engine/down: ## stop them
	@testdata/engines/containerd.sh --debian down; testdata/engines/containerd.sh down; testdata/engines/docker.sh down

clean: ## remove what was built here
	@rm -rf bin dist adapters/image/runner/bin/standard-code-runner-*
