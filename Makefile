SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

BLUEBENCH := .build/release/bluebench
REPORT := build/report
# make run and make test share one build, without debug information: its rooms are open to tests, the runtime looks for overlapping
# accesses, and only the rooms in which a run spends its time are optimised (Package.swift).
OPTIMISED := BLUEBENCH_TESTING=1 swift build -c release -debug-info-format none
TESTED := BLUEBENCH_TESTING=1 swift test -c release --skip-build
# The program as it is distributed is built apart: without both, and on Linux with Swift's libraries inside.
DISTRIBUTED := .build/dist
DISTRIBUTE := swift build -c release --scratch-path $(DISTRIBUTED) $(if $(filter Linux,$(shell uname)),--static-swift-stdlib)
# The packages also contain SQLite, libcrypto and zlib: pkg-config first finds a libusb in a folder that holds their archives. libusb stays
# a shared library that can be replaced, as its licence (LGPL) requires: a copy is in lib/bluebench. Its own libudev is named, too, so
# that a copy of that is found as well.
STATIC := .build/static
BESIDE := -Xlinker -rpath -Xlinker '$$ORIGIN/../lib/bluebench'
# The tests are independent of one another, and more than half of their time they wait: three workers for each core, which take over what
# another has not begun yet.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell echo $$((3 * $(CORES))))
# Each worker imports every test, so what Python compiles is kept in .build. labgrid's plugin, which pytest would load, has tests of its own.
PYTEST := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX="$(CURDIR)/.build/python" \
	.venv/bin/python -m pytest -p no:labgrid -n $(WORKERS) --dist worksteal
SWIFT_SOURCES := Package.swift Sources Tests Plugins

.PHONY: help setup build release distributed dist notice run test test-build test-swift test-room test-python test-package test-timed lint format bench soak embedded fuzz vm docs clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | column -t -s '|'

setup: ## install what is missing: apt packages, .venv with the foreign peers
	@.ci/setup

build: setup ## debug build of everything, tests included
	swift build --build-tests

release: setup ## the build of the program that make run and make test share
	$(OPTIMISED) --product bluebench

distributed: setup ## the program as make dist packs it and make bench measures it, in .build/dist
	$(DISTRIBUTE) --product bluebench

$(STATIC): Makefile
	@mkdir -p $@
	@rm -f $@/*.a; for library in sqlite3:sqlite3 libcrypto:crypto zlib:z; do \
		ln -sf "$$(pkg-config --variable=libdir $${library%:*})/lib$${library#*:}.a" $@/; done
	@printf '%s\n' 'Name: libusb-1.0' 'Description: libusb, and a folder of archives' "Version: $$(pkg-config --modversion libusb-1.0)" \
		'Libs: -L"$(CURDIR)/$(STATIC)" -lusb-1.0 -l:libudev.so.1' "Cflags: $$(pkg-config --cflags libusb-1.0)" >$@/libusb-1.0.pc

dist: setup $(STATIC) ## build/dist: an archive, a Debian package, a Python wheel and a container, tried in an empty Debian 12 and a new environment
	.ci/setup debootstrap lintian skopeo
	PKG_CONFIG_PATH="$(CURDIR)/$(STATIC)" $(DISTRIBUTE) $(BESIDE) --product bluebench
	PKG_CONFIG_PATH="$(CURDIR)/$(STATIC)" $(DISTRIBUTE) --product generate-manual
	.ci/dist --try

notice: release ## NOTICE, from the packages and libraries of the optimised build
	.ci/notice $(BLUEBENCH) --write

run: release ## the suites in the simulation; leaves build/report/{index.html,junit.xml,results.json,capture.pcapng}
	@mkdir -p $(REPORT)
	$(BLUEBENCH) run --throughput --report $(REPORT)

# The suites on the fake usbfs and the foreign peers mostly wait for wall time, so the Swift and the Python tests run side by side.
test: test-build ## all tests, foreign peers included
	@$(MAKE) -j2 BUILT=yes test-swift test-python

# Product by product: --build-tests would also build every product of every dependency.
test-build: release ## that build, with all tests
	$(OPTIMISED) --product PDUTool
	$(OPTIMISED) --product watch-heart-rate
	$(OPTIMISED) --product serve-heart-rate
	$(OPTIMISED) --product serve-lamp
	$(OPTIMISED) --product switch-lamp
	$(OPTIMISED) --product bluebenchPackageTests

test-swift: $(if $(BUILT),,test-build) ## the Swift tests alone
	$(TESTED)

# Builds nothing that they do not stand on. The suites on the fake usbfs run the program.
test-room: setup ## one room's tests, with no other room's: make test-room ROOM=Host
	$(if $(filter TransportUSB,$(ROOM)),swift build --product bluebench)
	BLUEBENCH_ROOM=$(ROOM) swift build --product bluebenchPackageTests
	BLUEBENCH_ROOM=$(ROOM) swift test --skip-build

test-python: $(if $(BUILT),,test-build) ## the foreign peers and the independent references
	BLUEBENCH=$(BLUEBENCH) PDUTOOL=.build/release/PDUTool $(PYTEST) -q $(if $(CI),--durations=40) Tests/Peers Tests/Reference

test-package: release ## a package of its own that depends on each product by version, from nothing to its tests; no network
	BLUEBENCH_TEST_LIMIT=1800 .venv/bin/python -m pytest -p no:labgrid -q Tests/Package

# Swift's tests are chosen by name, the Python modules by a marker.
TIMED := UnplugTests|VoiceOverUSBTests|CasesOverUSBTests/(the|data|aBusyDesk)|ReplugTests|ReenumerationTests|KnownOverUSBTests|StaleDongleTests|LostInToolsTests|$\
	RunLoopTests|DescriptorTests|ByteStreamTests|SocketTests|ServerTests|HTTPServerTests|CaseCommandTests|SubjectPortTests|MutatedCasesTests

test-timed: $(if $(BUILT),,test-build) ## the tests that know wall time
	$(TESTED) --filter '$(TIMED)'
	BLUEBENCH=$(BLUEBENCH) PDUTOOL=.build/release/PDUTool $(PYTEST) -q -m wall_time Tests/Peers

lint: ## formatting and the rules of the house
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	.ci/lint

format: ## format every Swift file
	swift format --in-place --recursive $(SWIFT_SOURCES)

bench: distributed ## speed against a plain C server, Bumble, btmon and tshark, in the same run
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench python3 Benchmarks/saturated_link.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench python3 Benchmarks/decoding.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench .venv/bin/python Benchmarks/capture_page.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench .venv/bin/python Tests/Peers/bench/roundtrips.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench .venv/bin/python Tests/Peers/bench/scan_reports.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench .venv/bin/python Tests/Peers/bench/virtual_time.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench python3 Benchmarks/usb_loopback.py
	BLUEBENCH=$(DISTRIBUTED)/release/bluebench python3 Benchmarks/usb_loopback.py --serialised

embedded: setup ## compile the codecs in Embedded Swift mode, as firmware would
	@.ci/embedded

fuzz: setup ## every entry point to what comes from outside, FUZZ_SECONDS each (10) or FUZZ_RUNS inputs; inputs that break something are kept
	@.ci/fuzz

soak: test-build ## a hundred orders of the cases, each with another seed; the legal variants with ten seeds; a thousand unplugs; the cases over USB beside a busy machine, and on every chip (half an hour); a day of an app with five accessories; whole foreign products; a million packets; the tests as on other machines, until each way has passed (hours)
	@for seed in $$(seq 1 100); do $(BLUEBENCH) run --shuffle $$seed --seed $$seed | tail -1; done
	$(BLUEBENCH) variants --seeds 10
	$(BLUEBENCH) mutants | tail -5
	$(BLUEBENCH) mutants --generated --all --least 0 | tail -5
	BLUEBENCH_UNPLUGS=1000 $(TESTED) --filter UnplugTests
	SOAK=1 $(TESTED) --filter CasesOverUSBTests
	SOAK=1 $(TESTED) --filter "MutatedCasesTests|QuirkStartTests|CheckUpOverUSBTests|PagingTests"
	SOAK=1 $(TESTED) --filter CasesOnChipsTests
	SOAK=1 $(TESTED) --filter "HostileDongleTests|SerialisedFramerTests|SerialisedOverUSBTests|USBSideTests"
	SOAK=1 $(TESTED) --filter LongRunTests
	BLUEBENCH_TESTING=1 .ci/late-pipes 0 1 20 100 1500 $$(seq -f '0-100,%g' 10)
	SOAK=1 BLUEBENCH=$(BLUEBENCH) $(PYTEST) -q Tests/Peers/test_products.py Tests/Peers/test_att_server.py Tests/Peers/test_pairing_faults.py Tests/Peers/test_product_flow.py Tests/Peers/test_report.py Tests/Peers/test_killed.py Tests/Peers/test_stops.py Tests/Peers/test_virtual_time.py Tests/Peers/test_wireshark.py Tests/Peers/test_determinism.py Tests/Peers/test_joined_pipe.py Tests/Peers/test_variants.py
	BLUEBENCH=$(BLUEBENCH) python3 Benchmarks/usb_loopback.py --soak --packets 1000000
	BLUEBENCH=$(BLUEBENCH) python3 Benchmarks/usb_loopback.py --serialised --soak --packets 1000000
	BLUEBENCH=$(BLUEBENCH) python3 Benchmarks/usb_loopback.py --serialised --soak --packets 1000000 --switch-every 50
	.ci/anywhere

vm: release ## a Debian kernel under QEMU uses our virtual dongles: btmgmt, hci-tester, BlueZ's GATT server, bluebench and an app in the guest
	$(OPTIMISED) --product watch-heart-rate
	$(OPTIMISED) --product serve-heart-rate
	python3 Tests/VM/vm.py --bluebench $(BLUEBENCH)
	Tools/vm --bluebench $(BLUEBENCH) --accessory heart-rate --run 'bluetoothctl --timeout 10 scan le' | grep "Bluebench Heart Rate"

docs: setup ## docs/guide/quirks.md and docs/guide/chips; the reference page of all PDUs, and DocC pages of the public products and Host, in build/docs
	swift build --product PDUTool
	swift build --product bluebench
	.build/debug/bluebench schema --quirks >docs/guide/quirks.md
	.build/debug/bluebench schema --chips | python3 -c 'import json, pathlib, sys; [pathlib.Path("docs/guide/chips", name).write_text(text) for name, text in json.load(sys.stdin).items()]'
	@mkdir -p build/docs
	.build/debug/PDUTool page >build/docs/pdus.html
	@echo "docs: build/docs/pdus.html"
	@.ci/docs

clean: ## forget every build, report and environment
	rm -rf .build build .venv
