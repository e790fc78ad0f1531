"""An S3 server on this machine (moto's), with an empty bucket for whoever asks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

KEYS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_REGION": "us-east-1"}
_numbers = itertools.count(1)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server; the environment of this process and its children says it, too."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    before = dict(os.environ)
    os.environ.update({**KEYS, "AWS_ENDPOINT_URL": address})
    try:
        yield address
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.stop()


def bucket(address: str) -> str:
    """The URL of a new one."""
    import boto3

    name = f"lab-{next(_numbers)}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket=name)
    return f"s3://{name}"
