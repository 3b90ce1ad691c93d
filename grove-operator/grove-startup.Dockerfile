# One static program and nothing else: no shell, no packages, nobody to log in as. `make images` builds the program first and
# gives the directory with it as context. BASE may be another image without a libc to speak of, best by its digest.
ARG BASE=scratch
FROM ${BASE}
ARG TARGETOS TARGETARCH
COPY ${TARGETOS}-${TARGETARCH}/grove-startup /grove-startup
USER 65532:65532
ENTRYPOINT ["/grove-startup"]
