"""`python -m kubesched.cluster.apiserver`: the API server in a process of its own.

Prints its address as one line when it serves, and stops when its standard input closes: it never outlives its parent.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sqlite3
import sys
from pathlib import Path

import uvloop

from kubesched.cluster.apiserver.server import ApiServer
from kubesched.cluster.apiserver.storage.store import DEFAULT_HISTORY
from kubesched.errors import ConfigurationError
from kubesched.open_files import raise_open_files_limit


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m kubesched.cluster.apiserver", description="The embedded API server."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (any free one)")
    parser.add_argument("--data-dir", type=Path, help="keep objects here; without it they live in memory")
    parser.add_argument("--kubeconfig", type=Path, help="write a kubeconfig file here")
    parser.add_argument("--insecure-http", action="store_true", help="plain HTTP without a token")
    parser.add_argument("--history", type=int, default=DEFAULT_HISTORY, help="changes kept per resource for watches")
    parser.add_argument("--detached", action="store_true", help="do not stop when standard input closes")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    try:
        server = ApiServer(
            host=arguments.host,
            port=arguments.port,
            data_dir=arguments.data_dir,
            insecure_http=arguments.insecure_http,
            history=arguments.history,
        )
        await server.start()
        if arguments.kubeconfig is not None:
            server.write_kubeconfig(arguments.kubeconfig)
    except (ConfigurationError, OSError, sqlite3.Error) as error:
        sys.exit(f"the API server cannot start: {error}")
    print(server.address, flush=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if not arguments.detached:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    await stop.wait()
    await server.stop()


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


def main() -> None:
    raise_open_files_limit()
    gc.set_threshold(100_000, 50, 100)  # stored objects are bytes: there is little for the collector to find
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(_arguments()))


if __name__ == "__main__":
    main()
