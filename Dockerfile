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
    cargo build --release --locked --package pe-app --bin manager --target "$target" && \
    cp "target/$target/release/manager" /manager

# No HEALTHCHECK: Kubernetes has probes of its own, and there is no shell to run one.
FROM scratch
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
