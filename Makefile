# SPDX-License-Identifier: Apache-2.0
#
# make run     start the assistant from this checkout
# make test    everything that CI runs
# make build   the programs, into bin/
# make install into PREFIX (default ~/.local)
# make install-tools the example tools into your tools folder
# make bench   benchmarks, with ratios measured in one run
# make soak    what takes too long for make test
# make dev-workspace DIR=... the folder that built-in tools may read
# make fmt     format; make check: format, vet, staticcheck, shellcheck and the laws

SHELL := /bin/sh
.DELETE_ON_ERROR:
.PHONY: run test build install install-tools uninstall agenda bench soak dev-workspace fmt check packages-run packages-test go adapters nats onnxruntime kokoro-voices phonemize

DAEMONS := busd micd sttd brain toolrunner ttsd
PREFIX  ?= $(HOME)/.local
VERSION := $(shell git describe --tags --match 'v*' 2>/dev/null || echo 0.0.0-devel)
LDFLAGS := -s -w -X example.org/desktop-assistant/pkg/daemon.Version=$(VERSION:v%=%)
MODULES := proto pkg services examples/tools/agenda
NATSCLI := v0.5.0
SCRIPTS  = $(shell git ls-files --cached --others --exclude-standard '*.sh') .ci/run
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/desktop-assistant
export NATS_CLI := $(CACHE)/natscli-$(NATSCLI)/nats
ORT     := $(CACHE)/onnxruntime-1.27.0/libonnxruntime.so.1
VOICES  := $(CACHE)/kokoro-js-1.2.1/voices

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

build: go phonemize agenda
	@mkdir -p bin
	@cd services && go build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/ $(DAEMONS:%=./%) ./desktop-assistant

test: packages-test check build adapters nats onnxruntime kokoro-voices
	cd services && go run ./archtest/testreport $(MODULES:%=../%)

check: go
	@out=$$(gofmt -l $(MODULES)); [ -z "$$out" ] || { echo "not formatted, run make fmt:" >&2; echo "$$out" >&2; exit 1; }
	for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done
	cd services && go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	for m in $(MODULES); do (cd $$m && "$(CURDIR)/bin/staticcheck" ./...) || exit 1; done
	shellcheck $(SCRIPTS)
	cd services && go test ./archtest

fmt: go
	gofmt -w $(MODULES)

bench: go
	for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem ./...) || exit 1; done

soak: go
	cd services && go test -race -run '^TestSoak$$' -v ./toolrunner/internal/run -calls 1000
	cd services && SOAK=1 go test -race -run '^TestCases$$' ./toolrunner/internal/native/adapter
	cd services && go test -race -run '^TestSoak$$' -v ./brain/internal/app -turns 2000
	cd services && go test -run '^TestStopIsSilent$$' -v ./ttsd/internal/app -stops 100
	cd services && SOAK=500 go test -run '^TestMemoryIsFlat$$' -v ./ttsd/internal/synth/kokoro

dev-workspace: build
	@deploy/dev-workspace.sh bin/toolrunner "$(DIR)"

# The command line of NATS, for the test that the bus can be watched with it;
# built once, outside the checkout.
nats: $(NATS_CLI)
$(NATS_CLI): | go
	@mkdir -p $(@D)
	GOBIN=$(@D) GOWORK=off go install github.com/nats-io/natscli/nats@$(NATSCLI)

# What the tests of Kokoro need and nothing else does: the onnxruntime library and
# the voices, out of two packages of the npm registry, outside the checkout. A model
# is fetched by nobody here.
ARCH    := $(shell uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
ORT_SUM := $(if $(filter arm64,$(ARCH)),c36bc200e7e6c093b8abb0b34590fbdd8c52fd3fb5e33795b9523ffdde2fce0f,d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221)
onnxruntime: $(ORT)
$(ORT):
	deploy/npm-files.sh onnxruntime-node@1.27.0 bin/napi-v6/linux/$(ARCH)/libonnxruntime.so.1 $(@D) $(ORT_SUM)
kokoro-voices: $(VOICES)
$(VOICES):
	deploy/npm-files.sh kokoro-js@1.2.1 voices $(@D) b89b16e8843463c5a16d45f3904df4c7d0d2a2fdb3997acfb1adc443ec4b4417

# The phoneme helper, a program of its own because of its licence. Without the
# header of libespeak-ng there is none, and the espeak-ng command does its work.
phonemize: bin/phonemize
bin/phonemize: services/phonemize/phonemize.c
	@mkdir -p bin
	@if echo '#include <espeak-ng/speak_lib.h>' | $(CC) -E - >/dev/null 2>&1; then \
		$(CC) -std=c11 -D_DEFAULT_SOURCE -O2 -Wall -Wextra -o $@ $< -lespeak-ng; \
	else \
		echo "no phoneme helper, the espeak-ng command does its work: apt install gcc libespeak-ng-dev builds it"; \
	fi

# The program of the calendar tool, a module of its own.
agenda: go
	@mkdir -p bin
	@cd examples/tools/agenda && GOWORK=off go build -trimpath -ldflags '-s -w' -o "$(CURDIR)/bin/agenda" .

# Programs through which corpora of inputs are run against our own code.
adapters: go agenda
	@mkdir -p bin/adapters
	cd services && go build -o ../bin/adapters/shell-tools ./toolrunner/adapter
	cd services && go build -o ../bin/adapters/native-tools ./toolrunner/adapter/native-tools
	cd services && go build -o ../bin/adapters/llm-streams ./brain/adapter/llm-streams
	cd services && go build -o ../bin/adapters/spoken-text ./brain/adapter/spoken-text
	cd services && go build -o ../bin/adapters/skills ./brain/adapter/skills

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/desktop-assistant $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples/tools
	install -m 755 $(DAEMONS:%=bin/%) bin/agenda $(DESTDIR)$(PREFIX)/libexec/desktop-assistant
	[ ! -e bin/phonemize ] || install -m 755 bin/phonemize $(DESTDIR)$(PREFIX)/libexec/desktop-assistant
	install -m 755 bin/desktop-assistant $(DESTDIR)$(PREFIX)/bin
	install -m 644 examples/config.toml $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples
	install -m 644 examples/tools/*.toml $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples/tools
	install -m 755 examples/tools/*.sh $(DESTDIR)$(PREFIX)/share/desktop-assistant/examples/tools
	cd examples && for s in skills/*/SKILL.md; do install -D -m 644 $$s $(abspath $(DESTDIR)$(PREFIX))/share/desktop-assistant/examples/$$s || exit; done
	@echo "Installed. Start it with: $(PREFIX)/bin/desktop-assistant run"

# The example tools for this user. The calendar is a program, which toolrunner
# finds beside itself.
install-tools: agenda
	install -d $(DESTDIR)$(PREFIX)/libexec/desktop-assistant
	install -m 755 bin/agenda $(DESTDIR)$(PREFIX)/libexec/desktop-assistant
	@deploy/install-tools.sh

# Configuration, tools and data of the user stay.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/desktop-assistant
	rm -rf $(DESTDIR)$(PREFIX)/libexec/desktop-assistant $(DESTDIR)$(PREFIX)/share/desktop-assistant
