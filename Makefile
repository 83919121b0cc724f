# Image that docker-build makes and deploy installs.
IMG ?= controller:latest
# docker, or any engine with the same command line.
CONTAINER_TOOL ?= docker
# What deploy and undeploy install: config/default, or config/namespaced for a manager without cluster-wide rights.
CONFIG ?= config/default
# Platforms of docker-buildx.
PLATFORMS ?= linux/arm64,linux/amd64
# Folder of what the targets make; git ignores it.
LOCALBIN ?= $(CURDIR)/bin
# The user's kubectl, else the one of the local control plane.
KUBECTL ?= hack/kubectl.sh
# What the words of an EGApp mean, for the manager (run). It is also what deploy puts into the cluster.
PLATFORM_CONFIG ?= config/manager/platform.yaml
# More arguments for the manager (run) or for cargo test (test).
ARGS ?=
# Where install-plugin installs.
PREFIX ?= $(HOME)/.local
# Not empty: demo leaves its control plane and manager running.
KEEP ?=
# How the app fails that demo shows; a wrong value lists the right ones.
FAIL ?=
# true: uninstall and undeploy do not mind what is already gone.
ignore-not-found ?= false

# Tools that cost minutes to build stand outside the checkout, so that a fresh clone finds them.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pe-app
CARGO_DENY_VERSION ?= 0.20.2
CARGO_DENY ?= $(CACHE)/tools/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny

# Binaries of the development profile: manager, manifests, cluster.
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEBUG := $(TARGET)/debug
CLUSTER := $(DEBUG)/cluster
CLUSTER_DIR ?= .cluster

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory

.PHONY: all
all: build

##@ General

.PHONY: help
help: ## Show this help.
	@cyan= bold= plain=; if [ -t 1 ]; then cyan=$$'\e[36m' bold=$$'\e[1m' plain=$$'\e[0m'; fi; \
	echo "Usage: make $${cyan}TARGET$${plain}"; \
	awk -F ':.*## ' -v cyan="$$cyan" -v bold="$$bold" -v plain="$$plain" ' \
		/^##@/ { printf "\n%s%s%s\n", bold, substr($$0, 5), plain } \
		/^[a-z0-9-]+:.*## / { printf "  %s%-20s%s %s\n", cyan, $$1, plain, $$2 }' $(MAKEFILE_LIST)

##@ Try it

.PHONY: demo
demo: ## Show the operator at work on a real control plane on this machine. KEEP=1 leaves it running; FAIL=imagepull shows an app that fails.
	@KEEP="$(KEEP)" FAIL="$(FAIL)" hack/demo.sh

.PHONY: cluster-up
cluster-up: binaries ## Start a control plane on this machine.
	@$(CLUSTER) up --dir $(CLUSTER_DIR)

.PHONY: cluster-down
cluster-down: binaries ## Stop what cluster-up or `make demo KEEP=1` left running.
	@hack/cluster-down.sh $(CLUSTER_DIR)

##@ Development

.PHONY: manifests
manifests: binaries ## Write CRD, ClusterRole, the schema of the platform file and the reference pages.
	@$(DEBUG)/manifests
	@hack/plugin-reference.sh $(DEBUG)/kubectl-egapp > $(DEBUG)/kubectl-egapp.md
	@cmp --silent $(DEBUG)/kubectl-egapp.md docs/reference/kubectl-egapp.md || { \
		cp $(DEBUG)/kubectl-egapp.md docs/reference/kubectl-egapp.md; echo "wrote      docs/reference/kubectl-egapp.md"; }

.PHONY: generate
generate: manifests build-installer ## Write every generated file.

.PHONY: fmt
fmt: ## Format the code.
	@cargo fmt --all

.PHONY: vet
vet: ## Run clippy; every warning is an error.
	@cargo clippy --workspace --all-targets -- -D warnings

.PHONY: test
test: manifests setup-envtest ## Run every test, the ones on a real control plane included. ARGS goes to cargo test.
	@cargo test --workspace $(ARGS)

.PHONY: setup-test-e2e
setup-test-e2e: setup-envtest ## Start the control plane of the end-to-end test.
	@$(CLUSTER) up --dir $(CLUSTER_DIR)-e2e

.PHONY: test-e2e
test-e2e: setup-test-e2e ## Deploy to a control plane of its own, run the manager with the deployed rights, undeploy.
	@trap '$(MAKE) cleanup-test-e2e' EXIT; hack/test-e2e.sh $(CLUSTER_DIR)-e2e

.PHONY: cleanup-test-e2e
cleanup-test-e2e: binaries ## Stop the control plane of the end-to-end test.
	@$(CLUSTER) down --dir $(CLUSTER_DIR)-e2e

.PHONY: lint
lint: vet binaries cargo-deny ## Check format, lints, dependencies, docs, and that generated files are up to date.
	@cargo fmt --all --check
	@$(CARGO_DENY) --log-level error check --hide-inclusion-graph bans licenses sources
	@RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items
	@hack/check-generated.sh $(LOCALBIN) $(KUBECTL)

.PHONY: audit
audit: cargo-deny ## Check the dependencies against the advisory data base, which it downloads.
	@$(CARGO_DENY) check --hide-inclusion-graph advisories

.PHONY: lint-fix
lint-fix: ## Format, and apply the fixes that clippy knows.
	@cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	@cargo fmt --all

##@ Build

.PHONY: build
build: ## Build bin/manager and bin/kubectl-egapp, optimised.
	@cargo build --release --locked --package pe-app --bins
	@install -D --target-directory=$(LOCALBIN) $(TARGET)/release/manager $(TARGET)/release/kubectl-egapp

.PHONY: install-plugin
install-plugin: build ## Install the kubectl plugin and its completion into PREFIX/bin.
	@install -D $(LOCALBIN)/kubectl-egapp $(PREFIX)/bin/kubectl-egapp
	@ln -sf kubectl-egapp $(PREFIX)/bin/kubectl_complete-egapp
	@echo "Installed $(PREFIX)/bin/kubectl-egapp. With that folder in PATH, try: kubectl egapp --help"

.PHONY: build-static
build-static: ## Build bin/manager-static and bin/kubectl-egapp-static, which need no library of the host, as in the image.
	@hack/build-static.sh $(LOCALBIN) manager kubectl-egapp

.PHONY: run
run: manifests ## Run the manager on this host against the current kubeconfig. ARGS goes to the manager.
	@exec $(DEBUG)/manager --platform-config=$(PLATFORM_CONFIG) $(ARGS)

.PHONY: docker-build
docker-build: ## Build the image IMG.
	$(CONTAINER_TOOL) build --tag $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build and push the image IMG for every one of PLATFORMS.
	$(CONTAINER_TOOL) buildx inspect pe-app-builder >/dev/null 2>&1 || $(CONTAINER_TOOL) buildx create --name pe-app-builder
	$(CONTAINER_TOOL) buildx build --builder pe-app-builder --push --platform=$(PLATFORMS) --tag $(IMG) .

.PHONY: build-installer
build-installer: manifests ## Write dist/install.yaml: everything `make deploy` applies, in one file.
	@mkdir -p dist $(LOCALBIN)
	@hack/render.sh $(IMG) config/default $(LOCALBIN) $(KUBECTL) > $(LOCALBIN)/install.yaml
	@mv $(LOCALBIN)/install.yaml dist/install.yaml

##@ Deployment

.PHONY: install
install: manifests ## Install the CRD into the cluster of the current kubeconfig.
	@$(KUBECTL) kustomize config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: manifests ## Remove the CRD, and with it every EGApp. ignore-not-found=true forgives what is gone.
	@$(KUBECTL) kustomize config/crd | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

.PHONY: deploy
deploy: manifests ## Install CRD, rights and manager (image IMG) into the cluster of the current kubeconfig.
	@hack/render.sh $(IMG) $(CONFIG) $(LOCALBIN) $(KUBECTL) | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: manifests ## Remove all of that. ignore-not-found=true forgives what is gone.
	@hack/render.sh $(IMG) $(CONFIG) $(LOCALBIN) $(KUBECTL) | $(KUBECTL) delete --ignore-not-found=$(ignore-not-found) -f -

##@ Dependencies

.PHONY: binaries
binaries: # No entry in the help: what the other targets run.
	@cargo build --workspace --bins

.PHONY: setup-envtest
setup-envtest: binaries ## Find or build the control plane's binaries: minutes, once per Kubernetes version.
	@$(CLUSTER) assets

.PHONY: cargo-deny
cargo-deny: $(CARGO_DENY) ## Build cargo-deny, once per version.

# Built for a short compile time: it runs for a second.
$(CARGO_DENY):
	@echo "Building cargo-deny $(CARGO_DENY_VERSION) into $(CACHE)/tools. This happens once."
	@CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo install --quiet --locked --version $(CARGO_DENY_VERSION) --root $(CACHE)/tools/cargo-deny-$(CARGO_DENY_VERSION) cargo-deny
