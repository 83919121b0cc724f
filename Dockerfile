# syntax=docker/dockerfile:1

# Alpine's toolchain targets musl, so the binary is static and the final stage needs no C library.
# Built natively for each platform, emulated where the builder has no such node: no cross compiler to keep.
# The version is that of rust-toolchain.toml.
FROM rust:1.95.0-alpine AS build
WORKDIR /src
COPY . .
# --target keeps the flag off build scripts and macros, which cannot be linked statically.
# The mounts keep crates and objects between builds; one build at a time may write to them.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    target="$(uname -m)-unknown-linux-musl" && \
    RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --release --locked --package pe-app --bins --target "$target" && \
    cp "target/$target/release/manager" "target/$target/release/kubectl-egapp" /

# No HEALTHCHECK: Kubernetes has probes of its own, and there is no shell to run one.
FROM scratch
# The kubectl plugin goes with the manager that it speaks of: docker cp takes it out.
COPY --from=build /manager /kubectl-egapp /
USER 65532:65532
ENTRYPOINT ["/manager"]
