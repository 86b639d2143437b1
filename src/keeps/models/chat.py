"""Call an LLM on any server with OpenAI's API: ask for JSON of a given schema, validate it, and retry once."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import from_json

from keeps.store.costs.spend import Spend
from keeps.store.db.session import forbid_inside_transaction
from keeps_client.errors import NotConfiguredError, UnavailableError

TIMEOUT_SECONDS = 60.0
RETRIES = 2
MAX_ANSWER_TOKENS = 2_000
ModelT = TypeVar("ModelT", bound=BaseModel)


class ChatModel(Protocol):
    """The interface that extraction needs of an LLM. A `model` names it, where costs are shown."""

    async def answer(self, instructions: str, text: str, shape: type[ModelT], spend: Spend | None = None) -> ModelT:
        """Return the LLM's answer to `text`, as `shape`.

        Raises UnavailableError if the LLM is unreachable or answers twice with invalid JSON.
        `spend` is called with the tokens of each answered request, and with how many of them the LLM wrote.
        """
        ...

    async def close(self) -> None: ...


class OpenAIChat:
    """The remote LLM. Its answers are validated against the schema; nothing else of them is used."""

    def __init__(
        self, model: str, *, base_url: str, api_key: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        try:
            import openai
        except ImportError:
            raise NotConfiguredError(
                "KEEPS_LLM_BASE_URL needs the package openai: pip install 'keeps[openai]'"
            ) from None
        self._client: Any = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=RETRIES
        )
        self._errors = openai
        self.model = model
        self._knows_schemas = True
        self._options: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_ANSWER_TOKENS}

    async def answer(self, instructions: str, text: str, shape: type[ModelT], spend: Spend | None = None) -> ModelT:
        forbid_inside_transaction("the LLM")
        schema = json.dumps(shape.model_json_schema())
        counted = Spend() if spend is None else spend
        messages = [
            {
                "role": "system",
                "content": (
                    f"{instructions}\nAnswer with one JSON object that matches this JSON schema, and nothing"
                    f" else:\n{schema}"
                ),
            },
            {"role": "user", "content": text},
        ]
        for _ in range(2):
            said = await self._ask(messages, shape, counted)
            try:
                return shape.model_validate(_without_nul(from_json(_object_in(said))))
            # The answer may be no JSON, have another schema, or contain half of a surrogate pair.
            except (ValueError, TypeError):
                counted.reject()
                messages = [
                    *messages,
                    {
                        "role": "user",
                        "content": "That did not match the schema. Answer again, with the JSON object only.",
                    },
                ]
        raise UnavailableError("the LLM returned invalid output twice; the job will retry later")

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, messages: list[dict[str, str]], shape: type[BaseModel], spend: Spend) -> str:
        answer: Any = None
        try:
            answer = await self._complete(messages, shape, spend)
            return answer.choices[0].message.content or ""
        except self._errors.AuthenticationError as error:
            raise NotConfiguredError(
                f"the LLM refused the API key ({error.status_code}); check KEEPS_LLM_API_KEY"
            ) from None
        except self._errors.APIStatusError as error:
            about = " ".join(str(each) for each in (error.status_code, error.code, error.param) if each)
            raise UnavailableError(f"the LLM refused the request ({about}); check KEEPS_LLM_MODEL") from None
        except self._errors.OpenAIError as error:
            raise UnavailableError(f"the LLM cannot be reached ({type(error).__name__})") from None
        except (AttributeError, IndexError, TypeError, ValueError, RecursionError):
            if answer is not None:
                spend.reject()
            raise UnavailableError("the LLM's answer does not have the format of OpenAI's API") from None

    async def _complete(self, messages: list[dict[str, str]], shape: type[BaseModel], spend: Spend) -> Any:
        """Request structured output by the schema; JSON of any form from a server without support for schemas.

        Options that the model refuses are left out from then on: reasoning models take no temperature, and another name
        for the limit of the answer.
        """
        while True:
            wanted: dict[str, Any] = {"type": "json_object"}
            if self._knows_schemas:
                schema = {"name": shape.__name__.strip("_"), "schema": shape.model_json_schema()}
                wanted = {"type": "json_schema", "json_schema": schema}
            try:
                with counted_requests(spend):
                    response = await self._client.chat.completions.with_raw_response.create(
                        model=self.model,
                        messages=messages,
                        response_format=wanted,
                        **self._options,
                    )
                return counted_answer(response, spend)
            except (self._errors.BadRequestError, self._errors.UnprocessableEntityError) as error:
                if self._options.pop(str(error.param), None) is not None:
                    if error.param == "max_tokens":
                        self._options["max_completion_tokens"] = MAX_ANSWER_TOKENS
                elif self._knows_schemas:
                    self._knows_schemas = False
                else:
                    raise


@contextmanager
def counted_requests(spend: Spend) -> Generator[None]:
    """Count requests of OpenAI's client that fail, with those that it sent before and repeated."""
    try:
        yield
    except BaseException as error:
        spend.fail(1 + _repetitions(getattr(error, "request", None)))
        raise


def counted_answer(response: Any, spend: Spend) -> Any:
    """Return the answer in a raw response of OpenAI's client, and count it, its repetitions and its tokens."""
    spend.fail(_repetitions(getattr(response, "http_request", None)))
    try:
        answer = response.parse()
    except Exception:
        spend.fail()
        raise
    usage = getattr(answer, "usage", None)
    spend(getattr(usage, "total_tokens", 0), getattr(usage, "completion_tokens", 0))
    return answer


def _repetitions(request: Any) -> int:
    """Return how often OpenAI's client had sent a request before: it says so in a header of the last one."""
    said = "" if request is None else str(request.headers.get("x-stainless-retry-count", ""))
    return int(said) if said.isdecimal() and len(said) < 3 else 0


def _without_nul(value: Any) -> Any:
    """Return a value without NUL characters, which JSON allows and PostgreSQL cannot store."""
    match value:
        case str():
            return value.replace("\0", "")
        case list():
            return [_without_nul(each) for each in cast("list[Any]", value)]
        case dict():
            return {key: _without_nul(each) for key, each in cast("dict[str, Any]", value).items()}
        case _:
            return value


def _object_in(text: str) -> str:
    """Return the JSON object in an answer: models often add fences and words around it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text
