# Two commands: make run, make test. Both work from a fresh clone on a bare Debian with Go and Node. Another port: make run ADDR=127.0.0.1:9090.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test setup lint go outside bench build golden pictures man clean

ADDR ?= 127.0.0.1:8080
TOOL := go tool -modfile=tools.mod
# One PostgreSQL server for all test binaries; it ends with the command.
WITH_POSTGRES := go run ./store/storetest/withpg
PACKAGES := $(shell go list ./... 2>/dev/null)

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

run: build ## serve the public API, MCP and pages with demo data on $(ADDR)
	./bin/publicapi -demo -addr $(ADDR)

build: ## build the programs into bin/; they need no C library
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

test: setup lint go outside ## install what the tests need, then run all of them
	@echo "all tests passed"

setup: ## install what the tests need (Debian packages need root)
	./internal/ci/setup

lint: ## formatting, vet, staticcheck, go fix
	@echo "lint"
	@unformatted=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofumpt-ed:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOL) staticcheck ./...
	@fixes=$$(go fix -diff ./... 2>&1 || true); if [ -n "$$fixes" ]; then echo "$$fixes"; echo "go fix has something to change"; exit 1; fi

go: ## all Go tests with the race detector, on SQLite and PostgreSQL, and the browser
	CGO_ENABLED=1 $(WITH_POSTGRES) go test -race -timeout 25m ./...
	$(WITH_POSTGRES) go test -run 'TestEveryState|TestAnyPhrase' ./payment ./market/ideas # whole: with the race detector they do a part

outside: build ## third-party checks: MCP conformance and inspector, OpenAPI lint, SDKs
	./internal/ci/outside

bench: ## the benchmarks behind the figures in docs/speed.md
	go test -run '^$$' -bench . -benchmem ./...

golden: ## rewrite golden files, generated pages and the diagram after an intended change
	go test $$(git grep -l '"update"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -update
	@if command -v npm >/dev/null; then ./internal/ci/sdkjs docs; fi
	@if command -v python3 >/dev/null; then ./internal/ci/sdkpy docs; fi

pictures: ## take the pictures of docs/pages.md and of the MCP app again, with chromium
	go test ./serve/pages -run TestInABrowser -pictures
	go test ./internal/conformance -run TestNamesInTheReferenceHost -pictures

man: ## write the manual pages of operator into dist/man
	go run -tags man ./cmd/operator man dist/man

clean: ## remove what was built
	rm -rf bin dist node_modules sdk/js/dist sdk/python/dist sdk/python/build
