# The only commands that a newcomer needs. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo build test test-python-matrix test-conformance test-chart test-cluster test-asan test-tsan test-peers test-hostile test-ray test-flight test-perf-analyzer compile-architectures soak fuzz lint format docs docs-check docs-dashboard dist image image-archive release bench-kernels bench-shards bench-engine bench-service bench-clients bench-places bench-sizes bench-tables bench-overload bench-ray clean

BUILD ?= build
JOBS ?= $(shell nproc)

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## install what is missing, build, and watch the server sort real data
	@scripts/demo.sh

build: ## build everything, the CUDA engine too (needs no GPU)
	@scripts/setup.sh test
	@scripts/build.sh $(BUILD)

test: ## install what is missing, build, and run every check and test
	@BUILD=$(BUILD) scripts/test.sh

test-python-matrix: ## run the Python tests beside the oldest libraries, each protobuf from 4 to 7, and other Pythons
	@scripts/setup.sh test --no-cuda
	@.deps/venv/bin/python client/python/tests/matrix.py

test-conformance: build ## run every vector of client/conformance against the client of every language
	@client/conformance/make_vectors.py --check
	@client/conformance/run.py

test-asan: ## run the C++ and end-to-end tests and the attacks under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh test --no-cuda
	@scripts/sanitize.sh address

test-tsan: ## run the C++ and end-to-end tests under ThreadSanitizer
	@scripts/setup.sh test --no-cuda
	@scripts/sanitize.sh thread

test-chart: ## test the Helm chart with helm and helm-unittest, which it compiles once (needs Go)
	@scripts/setup.sh test --no-cuda
	@scripts/go.sh chart
	@.deps/venv/bin/python -m pytest -q -p no:cacheprovider tests/deploy/test_chart.py tests/deploy/test_manifests.py

test-cluster: ## test the chart against a control plane of Kubernetes, which it compiles once (needs Go)
	@scripts/setup.sh test --no-cuda
	@scripts/cluster.sh

test-peers: build ## run gRPC's interop client, its health probe and h2spec (need Go), nginx, HAProxy and Envoy against the server
	@scripts/proxies.sh
	@CORANKD=$(CURDIR)/$(BUILD)/bin/corankd .deps/venv/bin/python -m pytest -q -p no:cacheprovider tests/peers

test-hostile: build ## attack the server's HTTP/2 in 26 ways beside a caller, and bound what each attack takes (5 minutes)
	@scripts/hostile.sh $(BUILD)

test-ray: build ## test corank.ray and corank.dask on local clusters that lose workers, nodes and servers (needs 4 GB)
	@CORANKD=$(CURDIR)/$(BUILD)/bin/corankd scripts/ray.sh -m pytest -q -p no:cacheprovider tests/clusters

test-flight: build ## test the Flight gateway with Arrow's client for Go, which it downloads once (needs Go)
	@CORANKD=$(CURDIR)/$(BUILD)/bin/corankd .deps/venv/bin/python -m pytest -q -p no:cacheprovider tests/flight

test-perf-analyzer: build ## measure the server with Triton's perf_analyzer, which is then part of make test (downloads once)
	@scripts/perf_analyzer.sh
	@CORANKD=$(CURDIR)/$(BUILD)/bin/corankd scripts/kserve.sh -k perf_analyzer

compile-architectures: ## compile the kernels for every architecture that corank supports (long; needs no GPU)
	@scripts/setup.sh test
	@scripts/build.sh build-architectures -DCORANK_CUDA_ARCHITECTURES="80;86;89;90;100;120" -DCORANK_TESTS=OFF \
	  -DCORANK_BENCH=OFF -- corank_cuda_engine

soak: ## run the long tests of reliability: SOAK_MINUTES (60) at 0.8 of capacity, every fault in every phase
	@scripts/setup.sh test --no-cuda
	@scripts/soak.sh

fuzz: ## run the fuzz targets with Clang and sanitizers; RUNS inputs each (1000000)
	@scripts/setup.sh fuzz --no-cuda
	@scripts/fuzz.sh

lint: ## run the formatter's check and all linters, clang-tidy over every source
	@scripts/setup.sh test
	@scripts/lint.sh
	@scripts/build.sh $(BUILD)
	@scripts/tidy.py --all $(BUILD)

format: ## rewrite C++, CUDA and Python files in the project's format
	@scripts/setup.sh test --no-cuda
	@scripts/lint.sh --fix

docs: ## build the documentation site: build-docs/index.html
	@scripts/setup.sh docs
	@scripts/docs.sh

docs-dashboard: build ## draw the picture of the dashboard from a real Prometheus over two servers under load
	@.deps/venv/bin/python client/python/generate.py
	@PYTHONPATH=client/python/src .deps/venv/bin/python scripts/docs/dashboard.py $(BUILD)/bin/corankd \
	  .deps/prometheus/usr/bin/prometheus --seconds 60

docs-check: ## build the site, and lay out each page in Chromium as on a phone and on a desktop
	@scripts/setup.sh docs-check
	@scripts/docs.sh
	@.deps/venv/bin/python -m pytest -q -p no:cacheprovider tests/site

dist: build ## make dist/corank-VERSION-linux-x86_64.tar.xz, which runs with nothing installed
	@scripts/dist.sh $(BUILD)

image: ## build the container image with buildah and let it sort
	@scripts/setup.sh deploy --no-cuda
	@scripts/image.sh

image-archive: build ## write dist/corank-VERSION-image.tar, the container image made without a container engine
	@scripts/image_archive.sh $(BUILD)

release: dist ## make all that a release publishes: archive, wheel, sdist, image and SHA256SUMS in dist/
	@scripts/setup.sh deploy --no-cuda
	@scripts/release.sh $(BUILD)

bench-kernels: build ## time the kernels beside CUB (needs an NVIDIA GPU)
	@BUILD=$(BUILD) scripts/bench.sh kernels

bench-shards: build ## time one array on 2, 4 and more GPUs of the host beside one of them (needs two GPUs)
	@BUILD=$(BUILD) scripts/bench.sh shards

bench-engine: build ## time the CPU engine beside the C++ standard library and VQSort
	@BUILD=$(BUILD) scripts/bench.sh engine

bench-service: build ## time the service beside an echo server
	@BUILD=$(BUILD) scripts/bench.sh service

bench-overload: build ## load the service beyond its capacity, with callers that do not wait for each other
	@BUILD=$(BUILD) scripts/bench.sh overload

bench-clients: build ## the client of each language beside an echo by the same gRPC library
	@BUILD=$(BUILD) scripts/bench.sh clients

bench-places: build ## time 1 GiB arrays in every place beside np.sort, CuPy and the bus
	@BUILD=$(BUILD) scripts/bench.sh places

bench-sizes: build ## time sorts of growing arrays in every place beside np.sort, polars and CuPy
	@BUILD=$(BUILD) scripts/bench.sh sizes

bench-tables: build ## time sorts, joins and groups of tables beside polars and pandas
	@BUILD=$(BUILD) scripts/bench.sh tables

bench-ray: build ## time sorts, groups and joins of Ray data sets beside those of ray.data
	@BUILD=$(BUILD) scripts/bench.sh ray

clean: ## remove what was built; .deps stays
	rm -rf build build-architectures build-demo build-asan build-tsan build-fuzz build-soak build-docs dist
