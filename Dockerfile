# Keeps as a service, for a PostgreSQL of your own (KEEPS_DATABASE_URL). No build tools, no root, no writable root.
# By digest: --build-arg PYTHON_IMAGE=python:3.13-slim@sha256:…
ARG PYTHON_IMAGE=python:3.13-slim
FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
COPY . .
RUN python -m venv /opt/keeps \
 && /opt/keeps/bin/pip install --no-cache-dir --constraint constraints.txt ./client '.[databases,documents,mcp,openai,otel,redis,swagger]' \
 && /opt/keeps/bin/pip uninstall --yes --quiet pip

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Keeps" \
      org.opencontainers.image.description="One memory for AI agents, isolated by the database" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 keeps && useradd --uid 10001 --gid keeps --home-dir /home/keeps --create-home keeps
COPY --from=build /opt/keeps /opt/keeps
ENV PATH=/opt/keeps/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 KEEPS_HOME=/home/keeps/home \
    KEEPS_BACKGROUND_SECONDS=0
USER 10001:10001
VOLUME /home/keeps
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=2)"]
ENTRYPOINT ["keeps"]
CMD ["serve", "--host", "0.0.0.0", "--auth", "keys"]
