SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

BLUEBENCH := .build/release/bluebench
PYTEST := .venv/bin/python -m pytest
SWIFT_SOURCES := Package.swift Sources Tests Plugins

.PHONY: help setup build release test test-swift test-python lint format bench embedded clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | column -t -s '|'

setup: ## install what is missing: apt packages, .venv with the foreign peers
	@.ci/setup

build: setup ## debug build of everything, tests included
	swift build --build-tests

release: setup ## the release build that make run and the foreign peers use
	swift build -c release --product bluebench
	swift build -c release --product PDUTool

test: test-swift test-python ## all tests, foreign peers included

test-swift: setup ## the Swift tests alone
	swift test

test-python: release ## the foreign peers and the independent references
	BLUEBENCH=$(BLUEBENCH) $(PYTEST) -q Tests/Peers Tests/Reference

lint: ## formatting and the rules of the house
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	.ci/lint

format: ## format every Swift file
	swift format --in-place --recursive $(SWIFT_SOURCES)

bench: release ## speed against a plain C server and Bumble, in the same run
	BLUEBENCH=$(BLUEBENCH) python3 Benchmarks/saturated_link.py
	BLUEBENCH=$(BLUEBENCH) .venv/bin/python Tests/Peers/bench/roundtrips.py
	BLUEBENCH=$(BLUEBENCH) .venv/bin/python Tests/Peers/bench/scan_reports.py

embedded: setup ## compile the codecs in Embedded Swift mode, as firmware would
	@.ci/embedded

clean: ## forget every build, report and environment
	rm -rf .build build .venv
