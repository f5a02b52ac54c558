# The commands of this project. Each installs what it needs.

.PHONY: help setup build wasm check format unit test coverage release recording conformance torture soak soak-hosts bench bench-search bench-peers run federation-demo clean
.PHONY: lint types dead-code layers style names scanner
.DEFAULT_GOAL := help

BIN := node_modules/.bin

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

node_modules: package.json package-lock.json
	npm ci
	@touch node_modules

setup: node_modules ## Install the dependencies

build: node_modules ## Build the command into dist/
	node scripts/build.mjs

wasm: node_modules ## Compile the string scanner again, after a change in src/wire/assembly
	node scripts/build-wasm.mjs

# The parts run side by side, the longest first.
check: node_modules ## Types, lint, layers, names, dead code
	@$(MAKE) --no-print-directory -j 2 lint types dead-code layers style names scanner

format: node_modules ## Write all files in the format that `make check` wants
	$(BIN)/biome check --write .

lint:
	$(BIN)/eslint src test

types:
	$(BIN)/tsc -p .
	$(BIN)/tsc -p src/dashboard

dead-code:
	$(BIN)/knip

layers:
	$(BIN)/depcruise --config .dependency-cruiser.cjs src

style:
	$(BIN)/biome check --error-on-warnings .

names:
	node scripts/type-names.mjs

scanner:
	node scripts/build-wasm.mjs --check

unit: build ## Run the unit tests alone
	$(BIN)/vitest run --project unit

test: build check ## Install, build and run everything
	$(BIN)/vitest run

coverage: build ## Run everything, show what was run, and fail below 90 % of lines
	node scripts/coverage.mjs

conformance: build ## The official conformance suite and inspector, against a server and through the bridge
	node test/conformance/run.mjs

bench: build ## Measure: the bridge against direct stdio and against its limit, in one run
	node bench/run.mjs
	node bench/search.mjs
	node bench/context.mjs

bench-search: node_modules ## Measure: the search over tools, what it finds and what it costs
	node bench/search.mjs

bench-peers: build ## Measure: the bridge beside other gateways, which are fetched first
	node bench/peers.mjs

torture: build ## Kill, stop, flood and starve the bridge, with real processes, and all random tests in full: some twenty minutes
	RANDOM_RUNS=all $(BIN)/vitest run round-trip envelope reference-model sharing-model source-memory shared-settings-model audit-trail held-names layers json-grammar config-document resumable-link finder-process
	node test/torture/run.mjs

soak: build ## Random clients and servers that hang up in the middle of everything: 30 minutes, with fixed and fresh seeds
	node test/torture/run.mjs --minutes=30 'random clients and servers that hang up in the middle of everything'

soak-hosts: build ## Hosts and nats-servers that are killed and restarted under load: 15 minutes; needs nats-server
	node test/torture/run.mjs --minutes=15 'hosts and nats-servers that are killed and restarted under load'

federation-demo: build ## Three hosts that meet on NATS, with one of each part killed; needs nats-server
	@node dist/mcp-bridge.cjs demo --hosts

recording: build ## Draw the pictures of a terminal in README.md
	node scripts/recording.mjs

release: test ## Check, pack and try out a release; say what is left to do by hand
	node scripts/release.mjs

run: build ## Start the bridge on the default socket, with an example server if none is configured
	@node scripts/run.mjs

clean: ## Remove what was built
	rm -rf dist coverage
