# Each of build, run and test does all the set-up that it needs, from a fresh
# Debian 12 with make and git on: it installs missing packages (as root or with
# sudo), configures, builds what changed. What they make is in build/.

BUILD    := build
JOBS     ?= $(shell nproc)
DATA_DIR ?= $(BUILD)/data
ARGS     ?=
CHECKS   ?=
RESULTS  ?= test-results.xml

.DEFAULT_GOAL := help
.PHONY: help setup build run test check check-cluster bench overload format clean

help:
	@echo 'make build    builds $(BUILD)/bin/onced, $(BUILD)/bin/oncectl and the client library'
	@echo 'make run      starts the server in the foreground; data in DATA_DIR ($(DATA_DIR)),'
	@echo "              more flags by ARGS: make run ARGS='--listen 127.0.0.1:6000'"
	@echo 'make test     builds everything and runs the tests'
	@echo "make check    the slower checks too, as CI does; some of them: make check CHECKS='tidy lint'"
	@echo 'make check-cluster  installs the Helm chart on a real API server, whose build takes long'
	@echo 'make bench    measures against Redis, PostgreSQL and a bare gRPC server, for a quarter'
	@echo '              of an hour, and rewrites the results in docs/benchmarks.md'
	@echo "make overload measures five times the load that onced can carry, for three minutes"
	@echo 'make format   formats the C++ sources in place'
	@echo 'make clean    removes what was built, but for DATA_DIR'

setup:
	@deploy/dev/install-packages.sh build

# Ninja configures again by itself when a CMakeLists.txt changes.
$(BUILD)/build.ninja: CMakePresets.json | setup
	cmake --preset default

build: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target onced oncectl onced_fake

run: build
	@mkdir -p '$(DATA_DIR)'
	@echo
	@echo 'Starting onced with its data in $(DATA_DIR). From another shell:'
	@echo '  $(BUILD)/bin/oncectl reserve --namespace shop --key order-1 --fingerprint sha256:5f2c'
	@echo 'Ctrl-C stops it.'
	@echo
	@exec $(BUILD)/bin/onced --data-dir '$(DATA_DIR)' $(ARGS)

# Configured anew: what the examples need may just have been installed.
test: build
	@deploy/dev/install-packages.sh examples
	@cmake --preset default >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --no-tests=error \
	       --output-junit $(RESULTS)

check:
	@bash .ci/run $(CHECKS)

check-cluster:
	@BUILD_SECONDS=7200 bash .ci/run chart cluster

# Configured anew: the clients of what it compares may just have been installed.
bench: setup
	@deploy/dev/install-packages.sh bench
	@cmake --preset default >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target onced_bench
	$(BUILD)/bin/onced_bench suite --command 'make bench' --document docs/benchmarks.md \
	  --csv docs/figures/bench.csv $(ARGS)
	gnuplot -e "csv='docs/figures/bench.csv'; base='docs/figures/bench'" tests/bench/figures.gp

# What its tables mean is in docs/overload.md. None of the other systems is wanted.
overload: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target onced_bench
	$(BUILD)/bin/onced_bench overload $(ARGS)

format:
	@deploy/dev/install-packages.sh check
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-14 -i

# The data stay: what a server acknowledged is not ours to delete.
clean:
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name data ! -path '$(DATA_DIR)' -exec rm -rf {} +; fi
	@rm -rf build-asan build-clang build-debug build-tsan
