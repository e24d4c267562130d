"""Fetches the facts that plugins ask for (`Handle.fetch`), each at its own pace."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, Final

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

from kubesched.client.http_errors import transport_error
from kubesched.client.http_transport import cancellation_check
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.errors import ClientError, TransportError
from kubesched.scheduler.framework.fetches import Fetched, Fetches

TIME_LIMIT: Final = 10.0
LARGEST_ANSWER: Final = 64 << 20
JITTER: Final = 0.1


class FactFetcher:
    """One task per address. Paths are asked of the API server, with the scheduler's credentials."""

    def __init__(self, rest: RestClient, clock: Clock, random: Random) -> None:
        self._rest = rest
        self._clock = clock
        self._random = random
        self._client: Client | None = None
        self._tasks: dict[Fetched[Any], asyncio.Task[None]] = {}

    async def follow(self, fetches: Fetches) -> None:
        """Fetch these addresses from now on, and no others; returns when each has been asked once."""
        wanted = set(fetches)
        for fetched in [known for known in self._tasks if known not in wanted]:
            await self._end(self._tasks.pop(fetched))
        new = [fetched for fetched in wanted if fetched not in self._tasks]
        await asyncio.gather(*map(self._fetch, new))
        for fetched in new:
            self._tasks[fetched] = asyncio.create_task(self._keep_fetching(fetched), name=f"fetch {fetched.url}")

    async def stop(self) -> None:
        for task in self._tasks.values():
            await self._end(task)
        self._tasks = {}
        if self._client is not None:
            await self._client.close()

    async def _keep_fetching(self, fetched: Fetched[Any]) -> None:
        while True:
            # Not all at the same moment, however many schedulers and plugins there are.
            await self._clock.sleep(fetched.every * (1 + JITTER * self._random.random()))
            await self._fetch(fetched)

    async def _fetch(self, fetched: Fetched[Any]) -> None:
        try:
            async with asyncio.timeout(TIME_LIMIT):
                body = await self._get(fetched)
        except TimeoutError:
            fetched.failed(f"no answer within {TIME_LIMIT:g} seconds")
        except ClientError as error:
            fetched.failed(str(error))
        else:
            if len(body) > LARGEST_ANSWER:
                fetched.failed(f"the answer has more than {LARGEST_ANSWER} bytes")
            else:
                fetched.answered(body)

    async def _get(self, fetched: Fetched[Any]) -> bytes:
        if fetched.url.startswith("/"):
            path, _, query = fetched.url.partition("?")
            return await self._rest.call("GET", path, query=query, retries=0)
        if self._client is None:
            self._client = ClientBuilder().timeout(timedelta(seconds=TIME_LIMIT)).build()
        check_cancellation = cancellation_check(None)
        try:
            answer = await self._client.get(fetched.url).headers(dict(fetched.headers)).build().send()
            check_cancellation()
            body = (await answer.bytes()).to_bytes()
        except PyreqwestError as error:
            check_cancellation()
            raise transport_error("GET", fetched.url, error) from error
        if answer.status != 200:
            raise TransportError(f"GET {fetched.url}: HTTP {answer.status}")
        return body

    @staticmethod
    async def _end(task: asyncio.Task[None]) -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
