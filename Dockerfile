# poolsize as user 1000, in the folder /data:
#   docker build --tag poolsize .
#   docker run --rm poolsize recommend --cores 8
#   docker run --rm --volume "$PWD:/data" --env POOLSIZE_URL poolsize sweep
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /source \
    && python -m venv /opt/poolsize \
    && /opt/poolsize/bin/pip install --no-cache-dir --constraint /source/constraints.txt /wheel/*.whl

FROM python:3.13-slim
COPY --from=build /opt/poolsize /opt/poolsize
RUN useradd --uid 1000 --create-home poolsize && install --directory --owner poolsize /data
ENV PATH=/opt/poolsize/bin:$PATH
USER 1000
WORKDIR /data
ENTRYPOINT ["poolsize"]
