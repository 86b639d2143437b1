/** The memory of one user, over HTTP. */

import { NotFoundError, RateLimitedError, UnavailableError } from "./errors.js";
import { EventParser, reconnectMs } from "./events.js";
import { SENT_ONCE } from "./openapi.js";
import type { Body, Fields, Page, Parts, PathOf, Query, Result, Schemas, Verb } from "./routes.js";
import { type CallOptions, type ClientOptions, Transport, invalid, pause, segment } from "./transport.js";

type Schema<Name extends keyof Schemas> = Schemas[Name];
type Json = Schema<"JsonValue">;
type PathParts = { path?: Record<string, unknown>; query?: object; body?: unknown };
/** Names a memory: by its id, or by its namespace and key. */
export type MemoryName = string | { namespace: string; key: string };

/** Attributes of a document. */
export interface NewDocument {
  /** File name; its ending tells the format. Default: that of a `File`, else `text.md`. */
  name?: string;
  title?: string;
  /** Origin, such as a path or an address. The same source again is a new version. */
  source?: string;
  metadata?: Record<string, Json>;
  tags?: string[];
  visibility?: "private" | "tenant";
  /** The source that it had before it was renamed. */
  replaces?: string;
  passage_tokens?: number;
}

/** Selection of events. */
export interface EventQuery {
  /** The `sequence` of the last event that you handled. */
  after?: number;
  /** Types such as `memory.written` or `memory.*`. */
  types?: string[];
  kinds?: ("semantic" | "episodic" | "procedural")[];
}

/** The target of a copy of a memory: one of them. */
export type ShareTarget = { space: string; agent_id?: undefined } | { agent_id: string; space?: undefined };

type MemberType = Schema<"SpaceMember">["member_type"];
const SHARE = "/v1/memories/{memory_id}/share";
const MAX_ITEMS = 1_000;
const MEMBER = "/v1/spaces/{space_id}/members/{member_type}/{member_id}";

/**
 * The memory of one user at a Keeps server.
 *
 *     const memory = new MemoryClient({ baseUrl: "http://127.0.0.1:8765", userId: "alice" });
 *     await memory.remember("Alice is allergic to peanuts.");
 *
 * Fields of arguments and answers have the names of the HTTP API (`session_id`). Times are RFC 3339 text. Calls are
 * repeated if nothing answered or the server asked to wait; each write has one Idempotency-Key, so that it happens once.
 */
export class MemoryClient {
  readonly #transport: Transport;

  constructor(options: ClientOptions | Transport = {}) {
    this.#transport = options instanceof Transport ? options : new Transport(options);
  }

  /**
   * Return a client that the environment configures: KEEPS_URL, KEEPS_TOKEN (an API key or a JWT), KEEPS_TENANT_ID,
   * KEEPS_USER_ID and KEEPS_AGENT_ID. `options` take precedence.
   */
  static fromEnv(options: ClientOptions = {}, environment?: Record<string, string | undefined>): MemoryClient {
    const runtime = globalThis as { process?: { env?: Record<string, string | undefined> } };
    const variables = environment ?? runtime.process?.env ?? {};
    return new MemoryClient({
      baseUrl: variables["KEEPS_URL"] || undefined,
      token: variables["KEEPS_TOKEN"] || undefined,
      tenantId: variables["KEEPS_TENANT_ID"] || undefined,
      userId: variables["KEEPS_USER_ID"] || undefined,
      agentId: variables["KEEPS_AGENT_ID"] || undefined,
      ...options,
    });
  }

  /** Return another user's memory at the same server, which refuses what the token may not do. */
  forUser(userId: string): MemoryClient {
    return new MemoryClient(this.#transport.forUser(userId));
  }

  /** Return the memory of a space that the user is a member of, at the same server. */
  forSpace(spaceId: string): MemoryClient {
    return new MemoryClient(this.#transport.forSpace(spaceId));
  }

  /** Address of the server. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  // Memories

  /** Store one memory. The same content again is `unchanged`; the same namespace and key is `updated`. */
  remember(
    content: string,
    fields: Fields<"post", "/v1/memories", "content"> & Query<"post", "/v1/memories"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Receipt">> {
    const { index, ...body } = fields;
    return this.request("post", "/v1/memories", { query: { index }, body: { content, ...body } }, call);
  }

  /**
   * Store up to 1,000 memories in one transaction, or none. Returns one receipt for each, in order, and with `learn`
   * one for each fact that was learnt from the user's messages.
   */
  rememberMany(
    items: Schema<"NewMemory">[],
    options: Fields<"post", "/v1/memories/batch", "items"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Receipt">[]> {
    return this.request("post", "/v1/memories/batch", { body: { items, ...options } }, call);
  }

  /** Return one memory by id, also a forgotten one; with `as_of`, as it was known then. */
  get(
    memoryId: string,
    query: Query<"get", "/v1/memories/{memory_id}"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Memory">> {
    return this.request("get", "/v1/memories/{memory_id}", { path: { memory_id: memoryId }, query }, call);
  }

  /** Return the current memory of a key, or null. */
  async find(namespace: string, key: string, call: CallOptions = {}): Promise<Schema<"Memory"> | null> {
    const page = await this.request("get", "/v1/memories", { query: { namespace, key } }, call);
    return page.items[0] ?? null;
  }

  /** Return memories, newest first, a page at a time. */
  list(
    query: Omit<Query<"get", "/v1/memories">, "filters" | "namespace" | "key"> & {
      filters?: Schema<"RecallRequest">["filters"];
    } = {},
    call: CallOptions = {},
  ): Promise<Page<Schema<"Memory">>> {
    return this.request("get", "/v1/memories", { query: query as Query<"get", "/v1/memories"> }, call);
  }

  /** Change the given fields of a memory. New content supersedes the old, which stays readable. */
  update(
    memoryId: string,
    changes: Body<"patch", "/v1/memories/{memory_id}">,
    options: Query<"patch", "/v1/memories/{memory_id}"> & { if_version?: number } = {},
    call: CallOptions = {},
  ): Promise<Schema<"Receipt">> {
    const { if_version: ifVersion, ...query } = options;
    const parts = { path: { memory_id: memoryId }, query, body: changes };
    return this.request("patch", "/v1/memories/{memory_id}", parts, { ...call, ifVersion });
  }

  /** Forget a memory: it is hidden now and can be restored for 30 days. `hard` removes it, also from the log. */
  forget(
    memory: MemoryName,
    options: { hard?: boolean; if_version?: number } = {},
    call: CallOptions = {},
  ): Promise<Schema<"Receipt">> {
    const { if_version: ifVersion, ...query } = options;
    const versioned = { ...call, ifVersion };
    if (typeof memory === "object") {
      const { namespace, key } = memory;
      return this.request("delete", "/v1/memories", { query: { namespace, key, ...query } }, versioned);
    }
    return this.request("delete", "/v1/memories/{memory_id}", { path: { memory_id: memory }, query }, versioned);
  }

  /** Restore a memory that was forgotten less than 30 days ago. */
  restore(memoryId: string, call: CallOptions = {}): Promise<Schema<"Receipt">> {
    return this.request("post", "/v1/memories/{memory_id}/restore", { path: { memory_id: memoryId } }, call);
  }

  /** Return the events of one memory, oldest first. */
  history(memoryId: string, call: CallOptions = {}): Promise<Schema<"Event">[]> {
    return this.request("get", "/v1/memories/{memory_id}/history", { path: { memory_id: memoryId } }, call);
  }

  /** Return the memories that answer a question best, best first. */
  recall(
    query: string,
    options: Fields<"post", "/v1/recall", "query"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"RecallResult">> {
    return this.request("post", "/v1/recall", { body: { query, ...options } }, call);
  }

  /** Return the text for a prompt, within `budget_tokens`: its parts `stable` and `volatile`, and both as `prompt`. */
  async context(
    query: string,
    options: Fields<"post", "/v1/context", "query"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"ContextResult"> & { prompt: string }> {
    const context = await this.request("post", "/v1/context", { body: { query, ...options } }, call);
    return { ...context, prompt: [context.stable, context.volatile].filter(Boolean).join("\n\n") };
  }

  // Conversations

  /** Store one message of a conversation, of the user unless `role` says otherwise. */
  say(
    content: string,
    { session_id = "default", ...message }: Partial<Omit<Schema<"Message">, "content">> & { session_id?: string } = {},
    call: CallOptions = {},
  ): Promise<Schema<"ExchangeReceipt">> {
    return this.storeExchange([{ role: "user", ...message, content }], { session_id }, call);
  }

  /** Store messages of a conversation, in order, with the facts that the user states. */
  storeExchange(
    messages: Schema<"Message">[],
    options: Fields<"post", "/v1/exchanges", "messages">,
    call: CallOptions = {},
  ): Promise<Schema<"ExchangeReceipt">> {
    return this.request("post", "/v1/exchanges", { body: { messages, ...options } }, call);
  }

  /** Return the notes of a conversation, or null if it has no messages. */
  sessionNotes(sessionId: string, call: CallOptions = {}): Promise<Schema<"SessionNotes"> | null> {
    return this.request("get", "/v1/sessions/{session_id}/notes", { path: { session_id: sessionId } }, call);
  }

  /** End a conversation. The receipt is that of its summary. */
  endSession(sessionId: string, call: CallOptions = {}): Promise<Schema<"Receipt">> {
    return this.request("post", "/v1/sessions/{session_id}/end", { path: { session_id: sessionId } }, call);
  }

  createSession(fields: Body<"post", "/v1/memory/sessions"> = {}, call: CallOptions = {}): Promise<Schema<"Session">> {
    return this.request("post", "/v1/memory/sessions", { body: fields }, call);
  }

  getSession(sessionId: string, call: CallOptions = {}): Promise<Schema<"Session">> {
    return this.request("get", "/v1/memory/sessions/{session_id}", { path: { session_id: sessionId } }, call);
  }

  /** Change the given fields of a session; without fields, only update its last interaction. */
  updateSession(
    sessionId: string,
    changes: Body<"put", "/v1/memory/sessions/{session_id}">,
    call: CallOptions = {},
  ): Promise<Schema<"Session">> {
    const parts = { path: { session_id: sessionId }, body: changes };
    return this.request("put", "/v1/memory/sessions/{session_id}", parts, call);
  }

  /** Delete a session; its plans stay. */
  deleteSession(sessionId: string, call: CallOptions = {}): Promise<Schema<"Deleted">> {
    return this.request("delete", "/v1/memory/sessions/{session_id}", { path: { session_id: sessionId } }, call);
  }

  /** Return sessions, newest first, a page at a time. */
  listSessions(
    query: Query<"get", "/v1/memory/sessions"> = {},
    call: CallOptions = {},
  ): Promise<Page<Schema<"Session">>> {
    return this.#page("/v1/memory/sessions", query, call);
  }

  // Events

  /** Yield the stored events after number `after`, oldest first, to the end of the log. */
  async *events(query: EventQuery = {}, call: CallOptions = {}): AsyncGenerator<Schema<"Event">, void, void> {
    let after = query.after ?? 0;
    for (;;) {
      const events = await this.request("get", "/v1/events", { query: eventQuery({ ...query, after }) }, call);
      for (const event of events) yield event;
      const last = events.at(-1);
      if (last === undefined) return;
      after = last.sequence;
    }
  }

  /**
   * Yield events as they happen, without end: those after number `after`, or new ones. None is lost or repeated: a
   * connection that ends is made again after the last event. `break` or `call.signal` ends it.
   */
  async *subscribe(
    query: EventQuery = {},
    call: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<Schema<"Event">, void, void> {
    let after = query.after;
    let failures = 0;
    for (;;) {
      const parser = new EventParser();
      try {
        const parts = { ...call, method: "GET", path: "/v1/events/stream", query: eventQuery({ ...query, after }) };
        for await (const chunk of this.#transport.stream(parts)) {
          failures = 0;
          for (const { sequence, data } of parser.feed(chunk)) {
            after = sequence;
            if (data !== undefined) yield JSON.parse(data) as Schema<"Event">;
          }
        }
      } catch (error) {
        if (!(error instanceof UnavailableError || error instanceof RateLimitedError)) throw error;
        failures += 1;
      }
      await pause(reconnectMs(failures), call.signal);
    }
  }

  // Documents

  /** Add a document: text, or a file. The same source again is a new version. */
  async addDocument(
    content: string | Blob,
    attributes: NewDocument = {},
    call: CallOptions = {},
  ): Promise<Schema<"DocumentReceipt">> {
    const { name, ...document } = attributes;
    const file = typeof content === "string" ? new Blob([content], { type: "text/markdown" }) : content;
    const form = new FormData();
    form.append("document", JSON.stringify(document));
    form.append("file", file, name ?? (typeof content === "string" ? "text.md" : (content as File).name));
    const answer = await this.#transport.send({ ...call, method: "POST", path: "/v1/documents", body: form });
    return answer.body as Schema<"DocumentReceipt">;
  }

  getDocument(documentId: string, call: CallOptions = {}): Promise<Schema<"Document">> {
    return this.request("get", "/v1/documents/{document_id}", { path: { document_id: documentId } }, call);
  }

  /** Return a range of a document's text. */
  readDocument(
    documentId: string,
    query: Query<"get", "/v1/documents/{document_id}/text"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"DocumentText">> {
    return this.request("get", "/v1/documents/{document_id}/text", { path: { document_id: documentId }, query }, call);
  }

  /** Return your documents and those that the tenant shares, newest first, a page at a time. */
  listDocuments(query: Query<"get", "/v1/documents"> = {}, call: CallOptions = {}): Promise<Page<Schema<"Document">>> {
    return this.#page("/v1/documents", query, call);
  }

  deleteDocument(
    documentId: string,
    query: Query<"delete", "/v1/documents/{document_id}"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"DocumentDeleted">> {
    return this.request("delete", "/v1/documents/{document_id}", { path: { document_id: documentId }, query }, call);
  }

  /** Return the passages that answer best, with their places. */
  searchDocuments(
    query: string,
    options: Fields<"post", "/v1/documents/search", "query"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"DocumentHits">> {
    return this.request("post", "/v1/documents/search", { body: { query, ...options } }, call);
  }

  // Items: JSON values under a namespace and a key

  /** Run operations on items in order, in one transaction. Returns one result for each. */
  async batchItems(
    operations: Body<"post", "/v1/items">["operations"],
    options: Fields<"post", "/v1/items", "operations"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"ItemResult">[]> {
    return (await this.request("post", "/v1/items", { body: { operations, ...options } }, call)).results;
  }

  /** Run operations that change no item. */
  async readItems(
    operations: Body<"post", "/v1/items/read">["operations"],
    options: Fields<"post", "/v1/items/read", "operations"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"ItemResult">[]> {
    return (await this.request("post", "/v1/items/read", { body: { operations, ...options } }, call)).results;
  }

  /** Store a value in place of the previous one. It is found by its `texts`, or else by the whole value. */
  async putItem(
    namespace: string[],
    key: string,
    value: Record<string, Json>,
    options: Omit<Schema<"PutItem">, "op" | "namespace" | "key" | "value"> = {},
    call: CallOptions = {},
  ): Promise<void> {
    await this.batchItems([{ op: "put", namespace, key, value, ...options }], {}, call);
  }

  /** Return an item, or null. */
  async getItem(
    namespace: string[],
    key: string,
    options: Omit<Schema<"GetItem">, "op" | "namespace" | "key"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Item"> | null> {
    const [result] = await this.readItems([{ op: "get", namespace, key, ...options }], {}, call);
    return result?.item ?? null;
  }

  /** Delete an item now, also from the log; a missing one is no error. */
  async deleteItem(namespace: string[], key: string, call: CallOptions = {}): Promise<void> {
    await this.batchItems([{ op: "delete", namespace, key }], {}, call);
  }

  /** Return items in a namespace and below it: nearest in meaning with a `query`, else newest update first. */
  async searchItems(
    prefix: string[] = [],
    options: Omit<Schema<"SearchItems">, "op" | "prefix"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Item">[]> {
    const limit = options.limit ?? 10;
    const items: Schema<"Item">[] = [];
    for (;;) {
      const part = Math.min(limit - items.length, MAX_ITEMS);
      const rest = { offset: (options.offset ?? 0) + items.length, limit: part };
      const [result] = await this.readItems([{ op: "search", prefix, ...options, ...rest }], {}, call);
      const page = result?.items ?? [];
      items.push(...page);
      if (items.length >= limit || !(result?.more || page.length === MAX_ITEMS)) return items;
    }
  }

  /** Return the namespaces that have items, in order. `*` matches any one label. */
  async listNamespaces(
    options: Omit<Schema<"ListNamespaces">, "op"> = {},
    call: CallOptions = {},
  ): Promise<string[][]> {
    const [result] = await this.readItems([{ op: "namespaces", ...options }], {}, call);
    return result?.namespaces ?? [];
  }

  // Working memory: the state of a plan, shared by the agents of a tenant

  /** Store a value in the working memory of a plan. With `expected_version`, only if that version is stored. */
  store(
    key: string,
    value: Json,
    planId: string,
    options: Fields<"put", "/v1/memory/working/{plan_id}/{key}", "value"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"WorkingItem">> {
    const parts = { path: { plan_id: planId, key }, body: { value, ...options } };
    return this.request("put", "/v1/memory/working/{plan_id}/{key}", parts, call);
  }

  /** Return the value of a key, or null. */
  async retrieve(key: string, planId: string, call: CallOptions = {}): Promise<Json> {
    return (await this.retrieveWithVersion(key, planId, call))[0];
  }

  /** Return the value and version of a key; `[null, 0]` if it does not exist. */
  async retrieveWithVersion(key: string, planId: string, call: CallOptions = {}): Promise<[Json, number]> {
    try {
      const path = { plan_id: planId, key };
      const item = await this.request("get", "/v1/memory/working/{plan_id}/{key}", { path }, call);
      return [item.value, item.version];
    } catch (error) {
      if (error instanceof NotFoundError) return [null, 0];
      throw error;
    }
  }

  /** Append to the list at `key` or `key.sub.path`, atomically. Returns the new list. */
  async appendToList(key: string, value: Json, planId: string, call: CallOptions = {}): Promise<Json[]> {
    const body = { plan_id: planId, path: key, value };
    return (await this.request("post", "/v1/memory/atomic/append", { body }, call)).value as Json[];
  }

  /** Add to the number at `key` or `key.sub.path`, atomically. Returns the new number. */
  async increment(key: string, planId: string, delta = 1, call: CallOptions = {}): Promise<number> {
    const body = { plan_id: planId, path: key, delta };
    return (await this.request("post", "/v1/memory/atomic/increment", { body }, call)).value as number;
  }

  /** Return the keys of a plan, in order, a page at a time. */
  listPlanState(
    planId: string,
    query: Query<"get", "/v1/memory/working/{plan_id}"> = {},
    call: CallOptions = {},
  ): Promise<Page<Schema<"WorkingItem">>> {
    return this.#page(`/v1/memory/working/${segment(planId)}`, query, call);
  }

  /** Delete one key of a plan now, also from the log. */
  deletePlanState(planId: string, key: string, call: CallOptions = {}): Promise<Schema<"WorkingDeleted">> {
    return this.request("delete", "/v1/memory/working/{plan_id}/{key}", { path: { plan_id: planId, key } }, call);
  }

  // Spaces: memory that several users or agents share

  /** Create a space; you become its first curator. `spaceId`: 1 to 64 letters, digits and . _ - */
  createSpace(
    spaceId: string,
    fields: Fields<"post", "/v1/spaces", "space_id"> = {},
    call: CallOptions = {},
  ): Promise<Schema<"Space">> {
    return this.request("post", "/v1/spaces", { body: { space_id: spaceId, ...fields } }, call);
  }

  /** Return the spaces that you are a member of, by id. `after`: the last space of the previous page. */
  listSpaces(query: Query<"get", "/v1/spaces"> = {}, call: CallOptions = {}): Promise<Schema<"Space">[]> {
    return this.request("get", "/v1/spaces", { query }, call);
  }

  /** Return a space with its members, for members. */
  getSpace(spaceId: string, call: CallOptions = {}): Promise<Schema<"SpaceDetail">> {
    return this.request("get", "/v1/spaces/{space_id}", { path: { space_id: spaceId } }, call);
  }

  /** Change the title, or archive the space: then it can be read and not written. For curators. */
  updateSpace(
    spaceId: string,
    changes: Body<"patch", "/v1/spaces/{space_id}">,
    call: CallOptions = {},
  ): Promise<Schema<"Space">> {
    return this.request("patch", "/v1/spaces/{space_id}", { path: { space_id: spaceId }, body: changes }, call);
  }

  /** Erase everything in a space, also in the log. For curators. */
  eraseSpace(spaceId: string, call: CallOptions = {}): Promise<Schema<"ErasureReceipt">> {
    return this.request("delete", "/v1/spaces/{space_id}", { path: { space_id: spaceId } }, call);
  }

  /** Add a member, or change the role of one. An agent is a member by a key or token that is bound to it. */
  setSpaceMember(
    spaceId: string,
    memberId: string,
    role: Schema<"Membership">["role"] = "writer",
    options: { member_type?: MemberType; expires_at?: string } = {},
    call: CallOptions = {},
  ): Promise<Schema<"SpaceMember">> {
    const { member_type = "user", ...rest } = options;
    const path = { space_id: spaceId, member_type, member_id: memberId };
    return this.request("put", MEMBER, { path, body: { role, ...rest } }, call);
  }

  /** Remove a member, who sees nothing of the space from then on. For curators, and for oneself. */
  async removeSpaceMember(
    spaceId: string,
    memberId: string,
    options: { member_type?: MemberType } = {},
    call: CallOptions = {},
  ): Promise<void> {
    const { member_type = "user" } = options;
    await this.request("delete", MEMBER, { path: { space_id: spaceId, member_type, member_id: memberId } }, call);
  }

  /** Return who may read a memory, and why; administrators also see the keys that can. */
  listReaders(memoryId: string, call: CallOptions = {}): Promise<Schema<"MemoryReader">[]> {
    return this.request("get", "/v1/memories/{memory_id}/readers", { path: { memory_id: memoryId } }, call);
  }

  /**
   * Store a copy of a memory in a space, or for another agent of yours. It names the original in
   * `metadata.shared_from`, and is trusted as the original. Sharing it again returns `unchanged`.
   */
  shareMemory(memoryId: string, target: ShareTarget, call: CallOptions = {}): Promise<Schema<"Receipt">> {
    return this.request("post", SHARE, { path: { memory_id: memoryId }, body: target }, call);
  }

  /** Forget the copy of a memory in a space, or for an agent. `memoryId`: the original, which stays. */
  unshareMemory(memoryId: string, target: ShareTarget, call: CallOptions = {}): Promise<Schema<"Receipt">> {
    return this.request("delete", SHARE, { path: { memory_id: memoryId }, query: target }, call);
  }

  // What models cost

  /** Return what models cost, and the budgets: 30 days until today, unless `since` and `until` say otherwise. For admins. */
  costs(query: Query<"get", "/v1/admin/costs"> = {}, call: CallOptions = {}): Promise<Schema<"Costs">> {
    return this.request("get", "/v1/admin/costs", { query }, call);
  }

  // Every other route

  /** Call any route of the HTTP API, with its types: `request("post", "/v1/graph/entities", { body: { name } })`. */
  async request<V extends Verb, P extends PathOf<V>>(
    verb: V,
    path: P,
    parts: Parts<V, P>,
    call: CallOptions & { ifVersion?: number } = {},
  ): Promise<Result<V, P>> {
    const { path: names, query, body } = parts as PathParts;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(textOf(name, names?.[name])));
    const once = SENT_ONCE.has(`${verb} ${path}`);
    const sent = { ...call, method: verb.toUpperCase(), path: filled, query, body, once };
    return (await this.#transport.send(sent)).body as Result<V, P>;
  }

  async #page<T>(path: string, query: object, call: CallOptions): Promise<Page<T>> {
    const { body, headers } = await this.#transport.send({ ...call, method: "GET", path, query });
    return { items: body as T[], next_cursor: headers.get("x-next-cursor") };
  }
}

function textOf(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw invalid(`${name} must be text`);
}

function eventQuery(query: EventQuery): { after?: number; types?: string; kinds?: string } {
  return { after: query.after, types: query.types?.join(","), kinds: query.kinds?.join(",") };
}
