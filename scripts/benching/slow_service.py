"""A model service in a process of its own, in which hundreds of requests can wait side by side.

``python -m scripts.benching.slow_service SECONDS`` prints its port and serves until its stdin ends. Each
completion is the same final answer, given after so many seconds. ``GET /asked`` tells how many were asked
for, and how many waited at once at most.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from typing import Any

BACKLOG = 2048
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Final Answer: That is all."},
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
}
MODELS = {"object": "list", "data": [{"id": "gpt-4o", "object": "model", "owned_by": "bench", "created": 1}]}


class SlowService:
    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._requests = self._waiting = self._most_at_once = 0

    async def talk(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one connection's requests until it is closed, or the service is."""
        # The client has gone, or the service is closed: both end a connection.
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].split("\r\n")[0].strip()
                await reader.readexactly(int(length or 0))
                body = json.dumps(await self._answer(head.split()[1])).encode()
                header = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
                writer.write(f"{header}\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    async def _answer(self, path: str) -> dict[str, Any]:
        if path == "/asked":
            return {"requests": self._requests, "most_at_once": self._most_at_once}
        if path.endswith("/models"):
            return MODELS
        self._requests += 1
        self._waiting += 1
        self._most_at_once = max(self._most_at_once, self._waiting)
        await asyncio.sleep(self._latency_s)
        self._waiting -= 1
        return COMPLETION


async def serve(latency_s: float) -> None:
    service = SlowService(latency_s)
    server = await asyncio.start_server(service.talk, "127.0.0.1", 0, backlog=BACKLOG)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
