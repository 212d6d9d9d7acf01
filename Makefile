# SPDX-License-Identifier: Apache-2.0
#
# make run     start the assistant from this checkout
# make test    everything that CI runs
# make build   the programs, into bin/
# make install into PREFIX (default ~/.local)
# make bench   benchmarks, with ratios measured in one run
# make fmt     format; make check: format, vet, staticcheck and the laws

SHELL := /bin/sh
.DELETE_ON_ERROR:
.PHONY: run test build install uninstall bench fmt check packages-run packages-test go adapters nats

DAEMONS := busd micd sttd brain toolrunner ttsd
PREFIX  ?= $(HOME)/.local
VERSION := $(shell git describe --tags --match 'v*' 2>/dev/null || echo 0.0.0-devel)
LDFLAGS := -s -w -X example.org/desktop-assistant/pkg/daemon.Version=$(VERSION:v%=%)
MODULES := proto pkg services
NATSCLI := v0.5.0
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/desktop-assistant
export NATS_CLI := $(CACHE)/natscli-$(NATSCLI)/nats

run: packages-run build
	@bin/desktop-assistant run

go:
	@command -v go >/dev/null || { echo "go is missing: install Go 1.26.5 or newer, see https://go.dev/dl" >&2; exit 1; }
	@v=$$(go version | sed 's/.* go1\.\([0-9]*\).*/\1/'); [ "$$v" -ge 21 ] || { \
		echo "$$(go version) is too old: install Go 1.26.5 or newer, see https://go.dev/dl (from 1.21 on go fetches what it needs)" >&2; exit 1; }

# Without its packages the assistant still answers in text, so run goes on.
packages-run:
	@deploy/packages.sh run || echo "Going on without them: what needs them is off, and status says so."

packages-test:
	@deploy/packages.sh test

build: go
	@mkdir -p bin
	@cd services && go build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/ $(DAEMONS:%=./%) ./desktop-assistant

test: packages-test check build adapters nats
	cd services && go run ./archtest/testreport $(MODULES:%=../%)

check: go
	@out=$$(gofmt -l $(MODULES)); [ -z "$$out" ] || { echo "not formatted, run make fmt:" >&2; echo "$$out" >&2; exit 1; }
	for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done
	cd services && go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	for m in $(MODULES); do (cd $$m && ../bin/staticcheck ./...) || exit 1; done
	cd services && go test ./archtest

fmt: go
	gofmt -w $(MODULES)

bench: go
	for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem ./...) || exit 1; done

# The command line of NATS, for the test that the bus can be watched with it;
# built once, outside the checkout.
nats: $(NATS_CLI)
$(NATS_CLI): | go
	@mkdir -p $(@D)
	GOBIN=$(@D) GOWORK=off go install github.com/nats-io/natscli/nats@$(NATSCLI)

# Programs through which corpora of inputs are run against our own code.
adapters: go
	@mkdir -p bin/adapters
	cd services && go build -o ../bin/adapters/shell-tools ./toolrunner/adapter
	cd services && go build -o ../bin/adapters/llm-streams ./brain/adapter/llm-streams

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/desktop-assistant $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples/tools
	install -m 755 $(DAEMONS:%=bin/%) $(DESTDIR)$(PREFIX)/libexec/desktop-assistant
	install -m 755 bin/desktop-assistant $(DESTDIR)$(PREFIX)/bin
	install -m 644 examples/config.toml $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples
	install -m 644 examples/tools/* $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples/tools
	@echo "Installed. Start it with: $(PREFIX)/bin/desktop-assistant run"

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/desktop-assistant
	rm -rf $(DESTDIR)$(PREFIX)/libexec/desktop-assistant $(DESTDIR)$(PREFIX)/share/desktop-assistant
