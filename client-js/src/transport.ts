/** HTTP by `fetch`: headers, timeouts, and retries that do no write twice. */

import { KeepsError, UnavailableError, ValidationFailedError, errorOf } from "./errors.js";

const MAX_ATTEMPTS = 4;
const MAX_WAIT_MS = 20_000;
const RETRYABLE = new Set([429, 502, 503, 504]);
const STREAM_SILENCE_MS = 60_000;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;
const HEADER_TEXT = /^[\x20-\x7e]*$/;
const NOT_TEXT = /[\p{Cs}\0]/u;
const SPACE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NOT_ID = /[\p{Cs}\p{Cc}]/u;

/** Options of a client. */
export interface ClientOptions {
  /** Address of the server. Default: `http://127.0.0.1:8765`. */
  baseUrl?: string;
  /** An API key or a JWT. */
  token?: string;
  /** The tenant, for a server without authentication. */
  tenantId?: string;
  /** The user: for a server without authentication, or with a key that may act for any user. */
  userId?: string;
  agentId?: string;
  /** Work in this space instead of the user's own memory. */
  spaceId?: string;
  /** The user's time zone, such as Europe/Berlin, for calls without one. */
  timezone?: string;
  /** Milliseconds for one attempt. Default: 30,000. */
  timeoutMs?: number;
  /** Milliseconds that a call may wait when its rate is used up. Default: 65,000; rates are per minute. */
  rateWaitMs?: number;
  /** A replacement for the global `fetch`. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call with the signal's reason, also while it waits for a retry. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** A write with the same key and content is done once in 24 hours. Default: a new key for each call. */
  idempotencyKey?: string;
}

export interface Call extends CallOptions {
  method: string;
  path: string;
  query?: object;
  body?: unknown;
  /** The version that must be stored. */
  ifVersion?: number | undefined;
  /** Send it at most once, without an Idempotency-Key. */
  once?: boolean;
}

export interface Answer {
  body: unknown;
  headers: Headers;
}

interface Caller {
  headers: Record<string, string>;
  query: Record<string, string>;
}

/** Sends calls of one caller. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #caller: Caller;
  readonly baseUrl: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#caller = callerOf(options);
    this.baseUrl = checkedUrl(options.baseUrl ?? "http://127.0.0.1:8765");
  }

  /** Return a transport for another user of the same server. */
  forUser(userId: string): Transport {
    return new Transport({ ...this.#options, userId, spaceId: undefined });
  }

  /** Return a transport for a space of the same server. */
  forSpace(spaceId: string): Transport {
    return new Transport({ ...this.#options, spaceId });
  }

  /** Send a call and return its answer. Throws the error that the server names, or UnavailableError. */
  async send(call: Call): Promise<Answer> {
    const { method, signal } = call;
    const headers: Record<string, string> = { ...this.#caller.headers, Accept: "application/json" };
    if (method !== "GET" && !call.once) headers["Idempotency-Key"] = idempotencyKey(call);
    if (call.ifVersion !== undefined) headers["If-Match"] = `"${call.ifVersion}"`;
    const isForm = call.body instanceof FormData;
    if (call.body !== undefined && !isForm) headers["Content-Type"] = "application/json";
    const body = call.body === undefined || isForm ? call.body : JSON.stringify(call.body);
    const request: RequestInit = { method, headers, body: body as BodyInit | undefined };
    const url = this.#url(call);
    for (let attempt = 1; ; attempt += 1) {
      let failure: unknown;
      let response: Response | undefined;
      let text = "";
      const timer = timerOf(call.timeoutMs ?? this.#options.timeoutMs ?? 30_000, signal);
      try {
        response = await this.#fetch(url, { ...request, signal: timer.signal });
        text = await response.text();
      } catch (error) {
        signal?.throwIfAborted();
        failure = error;
        response = undefined;
      } finally {
        timer.stop();
      }
      if (response?.ok) return { body: parsed(text), headers: response.headers };
      const wait = call.once ? undefined : this.#waitMs(attempt, response);
      if (wait !== undefined) await pause(wait, signal);
      else if (response) throw errorOf(response.status, text);
      else throw this.#unanswered(failure);
    }
  }

  /** Yield the text of an endless answer as it arrives. Throws UnavailableError when it ends, or is silent for long. */
  async *stream(call: Call): AsyncGenerator<string> {
    const { signal } = call;
    const timer = timerOf(STREAM_SILENCE_MS, signal);
    try {
      const headers = { ...this.#caller.headers, Accept: "text/event-stream" };
      const response = await this.#fetch(this.#url(call), { headers, signal: timer.signal });
      if (!response.ok || response.body === null) throw errorOf(response.status, await response.text());
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          timer.restart();
          yield decoder.decode(value, { stream: true });
        }
      } finally {
        await reader.cancel().catch(() => undefined);
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof KeepsError ? error : this.#unanswered(error);
    } finally {
      timer.stop();
    }
    throw new UnavailableError({ detail: `${this.baseUrl} ended the stream` });
  }

  #fetch(url: string, request: RequestInit): Promise<Response> {
    const send = this.#options.fetch ?? globalThis.fetch;
    // A redirect could carry the token to another server; cookies of a browser never say who asks.
    return send(url, { ...request, redirect: "manual", credentials: "omit" });
  }

  #url(call: Call): string {
    const parameters = new URLSearchParams(this.#caller.query);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) {
        parameters.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
      }
    }
    const query = parameters.toString();
    return this.baseUrl + call.path + (query && `?${query}`);
  }

  /** Return the milliseconds before the next attempt, or undefined if a retry is useless. */
  #waitMs(attempt: number, response: Response | undefined): number | undefined {
    if (attempt >= MAX_ATTEMPTS || (response && !RETRYABLE.has(response.status))) return undefined;
    const backoff = 100 * 2 ** attempt * (0.5 + Math.random() / 2);
    const retryAfter = retryAfterMs(response?.headers.get("retry-after"));
    const isOverRate = response?.status === 429 && response.headers.has("ratelimit-limit");
    const most = isOverRate ? (this.#options.rateWaitMs ?? 65_000) : MAX_WAIT_MS;
    return retryAfter <= most ? Math.max(retryAfter, backoff) : undefined;
  }

  #unanswered(failure: unknown): UnavailableError {
    const cause = failure instanceof Error ? failure : undefined;
    const reason = (cause?.cause as { code?: string } | undefined)?.code ?? cause?.name ?? "unknown";
    return new UnavailableError(
      { detail: `${this.baseUrl} does not answer (${reason}); is Keeps serving there?` },
      { cause: failure },
    );
  }
}

/** Wait. Rejects with the signal's reason when it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Return one segment of a path. URLs drop `.` and `..`, also encoded, so that the call would reach another route. */
export function segment(text: string): string {
  if (text === "" || text === "." || text === ".." || NOT_TEXT.test(text)) {
    throw invalid(`${JSON.stringify(text)} cannot be part of an address; ids are text, neither empty nor "." nor ".."`);
  }
  return encodeURIComponent(text);
}

export function invalid(detail: string): ValidationFailedError {
  return new ValidationFailedError({ detail });
}

/** Return a signal that aborts after a time or with another one. `AbortSignal.any` leaks in some versions of Node. */
function timerOf(ms: number, other: AbortSignal | undefined) {
  const controller = new AbortController();
  const abort = () => controller.abort(other?.reason);
  const expire = () => controller.abort(new DOMException(`no answer after ${ms} ms`, "TimeoutError"));
  if (other?.aborted) abort();
  other?.addEventListener("abort", abort, { once: true });
  let timer = setTimeout(expire, ms);
  return {
    signal: controller.signal,
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(expire, ms);
    },
    stop: () => {
      clearTimeout(timer);
      other?.removeEventListener("abort", abort);
    },
  };
}

/** Return the address of a server without its last slash. Errors do not show it: it may contain a password. */
function checkedUrl(address: string): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw invalid("baseUrl is not the URL of a server; write http://host:port");
  }
  if (!/^https?:$/.test(url.protocol)) throw invalid("baseUrl begins with neither http:// nor https://");
  if (url.username || url.password) throw invalid("baseUrl contains a user name or password; give a token instead");
  if (url.search || url.hash) throw invalid("baseUrl contains a query or a fragment; write http://host:port");
  return url.href.replace(/\/+$/, "");
}

function callerOf(options: ClientOptions): Caller {
  const headers: Record<string, string> = {};
  const query: Record<string, string> = {};
  const { token, tenantId, userId, agentId, spaceId, timezone } = options;
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (tenantId !== undefined) headers["X-Tenant-ID"] = checkedId("tenantId", tenantId);
  if (agentId !== undefined) headers["X-Agent-ID"] = checkedId("agentId", agentId);
  if (spaceId !== undefined) headers["X-Space-ID"] = checkedSpace(spaceId);
  if (timezone !== undefined) headers["X-Timezone"] = timezone;
  if (userId !== undefined) {
    checkedId("userId", userId);
    if (HEADER_TEXT.test(userId)) headers["X-User-ID"] = userId;
    else query["user_id"] = userId; // a header holds ASCII only
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_TEXT.test(value)) throw invalid(`${name} must be ASCII without line breaks`);
  }
  return { headers, query };
}

function checkedId(name: string, id: string): string {
  const isText = typeof id === "string" && id === id.trim() && !NOT_ID.test(id);
  if (!isText || id.length < 1 || id.length > 255) {
    throw invalid(`${name} must be text of 1 to 255 characters, without control characters or spaces at its ends`);
  }
  return id;
}

function checkedSpace(id: string): string {
  if (typeof id !== "string" || !SPACE.test(id)) {
    throw invalid("spaceId must be 1 to 64 letters, digits and . _ - and begin with a letter or digit");
  }
  return id;
}

function idempotencyKey(call: Call): string {
  const key = call.idempotencyKey;
  if (key === undefined) {
    // Not crypto.randomUUID: browsers have it on pages with TLS only.
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  if (!VISIBLE_ASCII.test(key) || key.length < 1 || key.length > 128) {
    throw invalid("an idempotency key is 1 to 128 visible ASCII characters");
  }
  return key;
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new UnavailableError({ detail: "what answered is not Keeps, or another version of it; check the URL" });
  }
}

/** Return the value of a Retry-After header, in seconds or as a date, in milliseconds. */
function retryAfterMs(header: string | null | undefined): number {
  if (!header) return 0;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? 0 : Math.max(0, ms);
}
