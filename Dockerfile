# corankd, the server, and corank, the command line. Two stages: the first compiles, the second holds what runs and
# nothing else: no shell, no package manager. Any architecture that Debian and the CUDA compiler have.
#
#   make image                          builds it with buildah, over a Debian base of its own where no registry is reachable
#   docker build -t corank .            the same with Docker
#   docker run --gpus=all -p 127.0.0.1:50051:50051 corank --insecure
#   docker run -p 127.0.0.1:50051:50051 corank --insecure --engine=cpu
#   docker run -p 50051:50051 -v /etc/corank:/etc/corank:ro corank --tls-certificate=/etc/corank/tls.crt \
#     --tls-key=/etc/corank/tls.key --tokens-file=/etc/corank/tokens
#
# It listens on all addresses of the container, and so needs either TLS or --insecure.
#
# BASE_IMAGE    a Debian 12 image for the first stage
# VERSION, REVISION   labels of the image
# CORANK_CUDA   OFF leaves the CUDA engine out
# CORANK_CUDA_ARCHITECTURES   GPU architectures, "90" (Hopper) by default; "80;90;100;120" for the current ones
ARG BASE_IMAGE=debian:12-slim

FROM ${BASE_IMAGE} AS builder
ARG CORANK_CUDA=ON
ARG CORANK_CUDA_ARCHITECTURES=90
WORKDIR /src
# The slow part first: it changes only with the list of what is needed.
COPY scripts/setup.sh scripts/cuda.sh scripts/requirements-dev.txt scripts/
RUN if [ "${CORANK_CUDA}" = ON ]; then scripts/setup.sh build; else scripts/setup.sh build --no-cuda; fi
COPY . ./
RUN scripts/build.sh build -DCORANK_TESTS=OFF -DCORANK_BENCH=OFF -DCORANK_CUDA=${CORANK_CUDA} \
      "-DCORANK_CUDA_ARCHITECTURES=${CORANK_CUDA_ARCHITECTURES}" -- corankd corank && \
    scripts/image_root.sh /image build

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="corank" \
      org.opencontainers.image.description="GPU sort, merge and interval-move as a gRPC service" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=builder /image /
# NVIDIA's container runtime reads these; where there is no GPU they do nothing.
ENV PATH=/opt/corank/bin \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 65532:65532
EXPOSE 50051 9464 50052
STOPSIGNAL SIGTERM
# The port for probes: plaintext, and no token, whatever the other one asks for.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["corank", "health", "--server=127.0.0.1:50052", "--plaintext", "--deadline=4s"]
ENTRYPOINT ["corankd", "--listen=0.0.0.0:50051", "--metrics-listen=0.0.0.0:9464", "--health-listen=0.0.0.0:50052"]
