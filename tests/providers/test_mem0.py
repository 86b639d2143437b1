"""The mem0 extra against the real mem0ai, with Qdrant in a folder and embeddings from a server on loopback."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

os.environ["MEM0_TELEMETRY"] = "False"
mem0 = pytest.importorskip("mem0", reason="pip install 'keeps[mem0]'")

import json  # noqa: E402
import re  # noqa: E402

from keeps.providers.conformance import ProviderConformance  # noqa: E402
from keeps.providers.contract import ProviderFactory  # noqa: E402
from keeps.providers.mem0 import mem0_provider  # noqa: E402


class Words(BaseHTTPRequestHandler):
    """Vectors that are near where texts share words."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [
            {"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)
        ]
        body = json.dumps(
            {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def vector_of(text: str) -> list[float]:
    vector = [1e-3] * 256
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 256] += 1.0
    return vector


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Words)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


class TestMem0(ProviderConformance):
    @pytest.fixture(autouse=True)
    def _served(self, url: str) -> None:
        self._url = url

    def factory(self, folder: Path) -> ProviderFactory:
        client = mem0.Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 256},
                },
                "embedder": {
                    "provider": "openai",
                    "config": {"model": "m", "openai_base_url": self._url, "api_key": "x", "embedding_dims": 256},
                },
                "llm": {"provider": "openai", "config": {"model": "m", "openai_base_url": self._url, "api_key": "x"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        return mem0_provider(client)
