# The service (docs/service.md). Build: docker build -t opengcn .
FROM python:3.12-slim AS build
WORKDIR /source
RUN python -m venv /opt/opengcn
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# PyPI's torch for Linux brings CUDA. Set this to PyTorch's index of CPU builds for an image
# of a quarter of the size.
ARG TORCH_INDEX=""
RUN /opt/opengcn/bin/pip install --no-cache-dir -c constraints.txt \
    ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} ".[serve]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin opengcn
COPY --from=build /opt/opengcn /opt/opengcn
# Compiled loops are kept between workers, in the only place that is written to.
ENV PATH=/opt/opengcn/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /models
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["opengcn", "serve", "--host", "0.0.0.0"]
CMD ["/models/model.ogcn"]
