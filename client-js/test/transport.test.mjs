import assert from "node:assert/strict";
import { test } from "node:test";
import {
  KeepsError,
  MemoryClient,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
  UnavailableError,
  ValidationFailedError,
} from "keeps-client";
import { URL_OF_SERVER, collected, newMemory, proxy } from "./service.mjs";

const KEY = "idempotency-key";

async function behind(t, fault, options) {
  const place = await proxy(fault);
  t.after(place.close);
  return { ...place, memory: newMemory({ baseUrl: place.url, ...options }) };
}

test("an error has code, status, detail and request id", async () => {
  const memory = newMemory();
  const unknown = "019a2b3c-0000-7000-8000-000000000001";
  await assert.rejects(memory.get(unknown), (error) => {
    assert(error instanceof NotFoundError && error instanceof KeepsError);
    assert.deepEqual([error.name, error.code, error.status], ["NotFoundError", "not_found", 404]);
    assert.equal(error.message, error.detail);
    assert.match(error.requestId, /^[\w-]{8,}$/);
    return true;
  });
  await assert.rejects(memory.recall("", { limit: 0 }), (error) => {
    assert(error instanceof ValidationFailedError);
    assert.deepEqual(error.errors.map((problem) => problem.field).sort(), ["limit", "query"]);
    return true;
  });
  await assert.rejects(newMemory({ token: "wrong" }).list(), UnauthenticatedError);
});

test("a server that does not answer is unavailable", async () => {
  const { url, close } = await proxy(() => undefined);
  close();
  const memory = new MemoryClient({ baseUrl: url, token: "secret-token" });
  await assert.rejects(memory.list(), (error) => {
    assert(error instanceof UnavailableError);
    assert.match(error.detail, /does not answer \(ECONNREFUSED\)/);
    assert.doesNotMatch(`${error.stack}`, /secret-token/);
    return true;
  });
});

test("an answer of something else is unavailable", async (t) => {
  const { memory } = await behind(t, (number) => ({ status: number === 1 ? 404 : 200, body: "<html>" }));
  await assert.rejects(memory.list(), { code: "unavailable", status: 404, message: /not from Keeps/ });
  await assert.rejects(memory.list(), { code: "unavailable", message: /not Keeps/ });
});

test("a redirect is not followed, so the token stays with the server", async (t) => {
  const other = await behind(t, () => undefined);
  const { memory } = await behind(t, () => ({ status: 307, headers: { location: other.url } }));
  await assert.rejects(memory.list(), UnavailableError);
  assert.equal(other.requests.length, 0);
});

test("a write whose answer is lost is repeated and happens once", async (t) => {
  const { memory, requests } = await behind(t, (number) => (number <= 2 ? "lost" : undefined));
  assert.equal(await memory.increment("count", "plan", 5), 5);
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((request) => request.headers[KEY])).size, 1);
  assert.match(requests[0].headers[KEY], /^[0-9a-f]{32}$/);
  assert.equal(await memory.increment("count", "plan", 1), 6);
  assert.notEqual(requests[3].headers[KEY], requests[0].headers[KEY]);
});

test("a memory whose receipt is lost has one event", async (t) => {
  const { memory } = await behind(t, (number) => (number === 1 ? "lost" : undefined));
  assert.equal((await memory.remember("Alice sails.")).status, "created");
  assert.equal((await collected(memory.events({ types: ["memory.written"] }))).length, 1);
});

test("a key of the caller makes two calls one write", async () => {
  const memory = newMemory();
  const once = { idempotencyKey: "order-7" };
  assert.equal(await memory.increment("count", "plan", 5, once), 5);
  assert.equal(await memory.increment("count", "plan", 5, once), 5);
  await assert.rejects(memory.increment("count", "plan", 5, { idempotencyKey: "ä b" }), ValidationFailedError);
});

test("a call is repeated at most three times", async (t) => {
  const { memory, requests } = await behind(t, () => "away");
  await assert.rejects(memory.list(), UnavailableError);
  assert.equal(requests.length, 4);
});

test("a write with a secret in its answer is sent once", async (t) => {
  const { memory, requests } = await behind(t, () => "lost");
  await assert.rejects(memory.request("post", "/v1/admin/keys", { body: { name: "app" } }), UnavailableError);
  assert.equal(requests.length, 1);
  assert.equal(requests[0].headers[KEY], undefined);
});

test("an error of the caller is not repeated", async (t) => {
  const { memory, requests } = await behind(t, () => undefined);
  await assert.rejects(memory.recall(""), ValidationFailedError);
  assert.equal(requests.length, 1);
});

for (const [name, header] of [
  ["seconds", () => "1"],
  ["a date", () => new Date(Date.now() + 2_000).toUTCString()],
]) {
  test(`Retry-After in ${name} is waited for`, async (t) => {
    const busy = () => ({ status: 503, headers: { "retry-after": header() } });
    const { memory } = await behind(t, (number) => (number === 1 ? busy() : undefined));
    const start = performance.now();
    await memory.list();
    assert(performance.now() - start >= 950);
  });
}

test("a wait that is too long is an error at once", async (t) => {
  const problem = { code: "rate_limited", detail: "too many", request_id: "r-1", retry_after_seconds: 50 };
  const headers = { "retry-after": "50", "ratelimit-limit": "100" };
  const answer = { status: 429, headers, body: JSON.stringify(problem) };
  const { memory, requests } = await behind(t, () => answer, { rateWaitMs: 1_000 });
  await assert.rejects(memory.list(), (error) => {
    assert(error instanceof RateLimitedError);
    assert.deepEqual([error.retryAfterSeconds, error.requestId, error.status], [50, "r-1", 429]);
    return true;
  });
  assert.equal(requests.length, 1);
});

test("a signal aborts a call, and a wait for a retry", async (t) => {
  const hanging = await behind(t, () => "hangs");
  const reason = new Error("the user left");
  const first = new AbortController();
  const call = hanging.memory.list({}, { signal: first.signal });
  first.abort(reason);
  await assert.rejects(call, reason);
  await assert.rejects(hanging.memory.list({}, { signal: first.signal }), reason);
  assert(hanging.requests.length <= 1);

  const second = new AbortController();
  const waiting = await behind(t, () => {
    setImmediate(() => second.abort(reason));
    return { status: 503, headers: { "retry-after": "15" } };
  });
  const start = performance.now();
  await assert.rejects(waiting.memory.list({}, { signal: second.signal }), reason);
  assert(performance.now() - start < 10_000);
  await assert.rejects(hanging.memory.list({}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
});

test("an attempt without an answer ends after the timeout", async (t) => {
  const { memory, requests } = await behind(t, (number) => (number === 1 ? "hangs" : undefined), { timeoutMs: 1_500 });
  assert.deepEqual((await memory.list()).items, []);
  assert(requests.length >= 2);
});

test("a subscription loses and repeats no event", async (t) => {
  // The first stream breaks after its first event, and the second cannot be opened.
  const { memory, requests, breakStreams } = await behindBreaking(t);
  const seen = [];
  await memory.remember("Event 0.");
  const types = ["memory.written"];
  for await (const event of memory.subscribe({ after: 0, types })) {
    seen.push(event.sequence);
    if (seen.length === 4) break;
    if (seen.length === 2) breakStreams();
    await memory.remember(`Event ${seen.length}.`);
  }
  const stored = (await collected(memory.events({ types }))).map((event) => event.sequence);
  assert.deepEqual(seen, stored);
  assert(requests.filter((request) => request.url.startsWith("/v1/events/stream")).length >= 3);
});

test("a signal ends a subscription", async () => {
  const memory = newMemory();
  await memory.remember("Alice sails.");
  const controller = new AbortController();
  const reason = new Error("enough");
  await assert.rejects(async () => {
    for await (const _ of memory.subscribe({ after: 0 }, { signal: controller.signal })) controller.abort(reason);
  }, reason);
  const refused = newMemory({ token: "wrong" }).subscribe();
  await assert.rejects(refused.next(), UnauthenticatedError);
});

test("a client uses the fetch that it is given", async () => {
  const addresses = [];
  const recorded = (url, request) => {
    addresses.push(url);
    return fetch(url, request);
  };
  await newMemory({ fetch: recorded }).list({ limit: 1 });
  assert.deepEqual(addresses, [`${URL_OF_SERVER}/v1/memories?limit=1`]);
});

/** A client behind a proxy that breaks open streams on demand, and refuses the one after that. */
async function behindBreaking(t) {
  const open = [];
  let refusals = 0;
  const place = await behind(t, (_, request) => {
    if (!request.url.startsWith("/v1/events/stream")) return undefined;
    open.push(request.socket);
    return refusals-- > 0 ? "away" : undefined;
  });
  const breakStreams = () => {
    refusals = 1;
    for (const socket of open.splice(0)) socket.destroy();
  };
  return { ...place, breakStreams };
}
