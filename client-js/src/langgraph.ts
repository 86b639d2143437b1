/** A store for LangGraph.js: JSON values with namespaces and keys, found by filters and by meaning. */

import {
  BaseStore,
  InvalidNamespaceError,
  type Item,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";
import { MemoryClient } from "./client.js";
import { ForbiddenError, KeepsError, UnauthenticatedError, ValidationFailedError } from "./errors.js";
import { checkedJson, textsAt } from "./json.js";
import type { Body, Schemas } from "./routes.js";

const MAX_OPERATIONS = 1_000;
const MAX_TEXTS = 100;
const MAX_TEXT_CHARACTERS = 50_000;
type StoreRequest = Body<"post", "/v1/items">["operations"][number];
type Stored = Schemas["Item"];
type Result = Item | null | SearchItem[] | string[][] | undefined;

export interface KeepsStoreOptions {
  /**
   * Position of the label in each namespace that names the user whose items these are, so that row security separates
   * users. Without it, all items belong to the client's user.
   */
  userLabel?: number;
  /** Paths to embed, such as `text` or `chapters[*].title`. Default: the whole value. False: none. Keeps embeds. */
  index?: { fields: string[] } | false;
  /** Called when memory is unavailable and a read therefore returned nothing. Default: `console.warn`. */
  onFailure?: (error: KeepsError) => void;
}

/**
 * A LangGraph store in Keeps.
 *
 *     const store = new KeepsStore(memory, { userLabel: 1 }); // ["memories", "alice", …] belongs to alice
 *     const graph = builder.compile({ store });
 *
 * While memory is unavailable, reads return nothing, which is counted in `failures`, and writes throw.
 */
export class KeepsStore extends BaseStore {
  readonly #memory: MemoryClient;
  readonly #options: KeepsStoreOptions;
  /** The number of reads that returned nothing because memory was unavailable. */
  failures = 0;

  /** `memory`: default, the client that the environment configures. */
  constructor(memory: MemoryClient = MemoryClient.fromEnv(), options: KeepsStoreOptions = {}) {
    super();
    this.#memory = memory;
    this.#options = options;
  }

  /**
   * Run operations in order, in one transaction for each user and 1,000 operations. All are checked before the first is
   * sent.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const byOwner = new Map<string | undefined, { at: number; operation: Operation; request: StoreRequest }[]>();
    const results: Result[] = operations.map(() => undefined);
    const listings: [number, ListNamespacesOperation][] = [];
    for (const [at, operation] of operations.entries()) {
      const request = this.#requestOf(operation);
      if (request === undefined) {
        results[at] = null;
        continue;
      }
      const owner = this.#ownerOf(operation);
      if (owner === ALL_USERS) listings.push([at, operation as ListNamespacesOperation]);
      else if (byOwner.has(owner)) byOwner.get(owner)?.push({ at, operation, request });
      else byOwner.set(owner, [{ at, operation, request }]);
    }
    await Promise.all([
      ...Array.from(byOwner, async ([owner, tasks]) => {
        const done = await this.#ofOwner(owner, tasks);
        tasks.forEach(({ at }, place) => (results[at] = done[place]));
      }),
      ...listings.map(async ([at, listing]) => (results[at] = await this.#ofAllUsers(listing))),
    ]);
    return results as OperationResults<Op>;
  }

  /** Run operations on the items of one user. Reads return nothing while memory is unavailable. */
  async #ofOwner(
    owner: string | undefined,
    tasks: { operation: Operation; request: StoreRequest }[],
  ): Promise<Result[]> {
    const memory = owner === undefined ? this.#memory : this.#memory.forUser(owner);
    const writes = tasks.some(({ operation }) => isPut(operation));
    try {
      const results: Schemas["ItemResult"][] = [];
      for (let start = 0; start < tasks.length; start += MAX_OPERATIONS) {
        const part = tasks.slice(start, start + MAX_OPERATIONS).map(({ request }) => request);
        results.push(...(await (writes ? memory.batchItems(part) : memory.readItems(part as Reads))));
      }
      return await Promise.all(
        tasks.map(({ operation, request }, place) => resultOf(memory, operation, request, results[place] ?? {})),
      );
    } catch (error) {
      if (writes || !this.#isTolerable(error)) throw error;
      return tasks.map(({ operation }) => ("key" in operation ? null : []));
    }
  }

  /** List the namespaces of all users, for administrators. */
  async #ofAllUsers(operation: ListNamespacesOperation): Promise<string[][]> {
    const namespaces: string[][] = [];
    try {
      for (let after: string | null | undefined = ""; typeof after === "string";) {
        const page: Schemas["Page_UserNamespaces_"] = await this.#memory.request("get", "/v1/admin/items/namespaces", {
          query: { after },
        });
        namespaces.push(...page.items.flatMap((user) => user.namespaces));
        after = page.next_cursor;
      }
    } catch (error) {
      if (!this.#isTolerable(error)) throw error;
    }
    return selected(namespaces, operation);
  }

  #isTolerable(error: unknown): boolean {
    if (!(error instanceof KeepsError) || error instanceof ValidationFailedError) return false;
    if (error instanceof ForbiddenError || error instanceof UnauthenticatedError) return false;
    this.failures += 1;
    const warn = (failure: KeepsError) => console.warn(`Keeps: no memory (${failure.code}): ${failure.detail}`);
    (this.#options.onFailure ?? warn)(error);
    return true;
  }

  /** Return the user of an operation, undefined for the client's, or ALL_USERS. */
  #ownerOf(operation: Operation): string | undefined | typeof ALL_USERS {
    const position = this.#options.userLabel;
    if (position === undefined) return undefined;
    if (isListing(operation)) {
      const prefixes = (operation.matchConditions ?? []).filter(({ matchType }) => matchType === "prefix");
      const label = prefixes.map(({ path }) => path[position]).find((label) => label !== undefined && label !== "*");
      return label ?? ALL_USERS;
    }
    const namespace = "namespacePrefix" in operation ? operation.namespacePrefix : operation.namespace;
    const label = namespace[position];
    if (label === undefined) {
      const place = JSON.stringify(namespace);
      throw new InvalidNamespaceError(`Label ${position} of a namespace names the user; ${place} has none.`);
    }
    return label;
  }

  /** Return an operation as a request, or undefined where no item can be. Throws for an invalid one. */
  #requestOf(operation: Operation): StoreRequest | undefined {
    if ("namespacePrefix" in operation) return searchOf(operation);
    if (isListing(operation)) return listingOf(operation);
    const { namespace, key } = operation;
    validateNamespace(namespace, {
      allowEmpty: !isPut(operation) || operation.value === null,
      allowReservedRoot: true,
    });
    if (namespace.length === 0) return undefined;
    if (!isPut(operation)) return { op: "get", namespace, key };
    if (operation.value === null) return { op: "delete", namespace, key };
    const value = checkedJson(operation.value) as Schemas["PutItem"]["value"];
    const texts = this.#textsOf(operation, value);
    return { op: "put", namespace, key, value, index: texts !== false, texts: texts || null };
  }

  /** Return the texts to embed by name, undefined for the whole value, or false for none. */
  #textsOf(operation: PutOperation, value: object): Record<string, string> | undefined | false {
    const { index } = this.#options;
    const paths = operation.index ?? (index === false ? false : (index?.fields ?? ["$"]));
    if (paths === false) return false;
    if (paths.length === 1 && paths[0] === "$") return undefined;
    const texts = paths.flatMap((path) =>
      textsAt(value, path).map((text, number): [string, string] => [`${path}.${number}`, text]),
    );
    if (texts.length === 0) return false;
    const size = Math.ceil(texts.length / MAX_TEXTS); // adjacent texts are joined if there are too many
    const groups = texts.flatMap((_, start) => (start % size === 0 ? [texts.slice(start, start + size)] : []));
    return Object.fromEntries(
      groups.map((group) => [
        group[0]![0],
        group
          .map(([, text]) => text)
          .join("\n")
          .slice(0, MAX_TEXT_CHARACTERS),
      ]),
    );
  }
}

const ALL_USERS = Symbol("all users");
type Reads = Body<"post", "/v1/items/read">["operations"];

function isPut(operation: Operation): operation is PutOperation {
  return "value" in operation;
}

function isListing(operation: Operation): operation is ListNamespacesOperation {
  return !("namespace" in operation || "namespacePrefix" in operation);
}

function searchOf(operation: SearchOperation): Schemas["SearchItems"] {
  const { namespacePrefix: prefix, limit = 10, offset = 0, query } = operation;
  validateNamespace(prefix, { allowEmpty: true, allowReservedRoot: true });
  const filter = operation.filter && (checkedJson(operation.filter, true) as Schemas["SearchItems"]["filter"]);
  return { op: "search", prefix, query: query || null, filter, limit: Math.min(limit, MAX_OPERATIONS), offset };
}

function listingOf(operation: ListNamespacesOperation): Schemas["ListNamespaces"] {
  const conditions = operation.matchConditions ?? [];
  const paths = Object.fromEntries(conditions.map(({ matchType, path }) => [matchType, path]));
  const places = { prefix: paths["prefix"] ?? [], suffix: paths["suffix"] ?? [] };
  if (isSelectedHere(operation)) return { op: "namespaces", ...places, limit: MAX_OPERATIONS };
  const { maxDepth, limit = 100, offset = 0 } = operation;
  return { op: "namespaces", ...places, max_depth: maxDepth, limit, offset };
}

/** Return whether a listing asks for more than one request can say: two prefixes, or very many. */
function isSelectedHere({ matchConditions = [], limit = 100 }: ListNamespacesOperation): boolean {
  return (
    new Set(matchConditions.map(({ matchType }) => matchType)).size < matchConditions.length || limit > MAX_OPERATIONS
  );
}

async function resultOf(
  memory: MemoryClient,
  operation: Operation,
  request: StoreRequest,
  result: Schemas["ItemResult"],
): Promise<Result> {
  if (request.op === "get") return result.item ? itemOf(result.item) : null;
  if (request.op === "search") {
    const limit = (operation as SearchOperation).limit ?? 10;
    const items = result.items ?? [];
    if (items.length < limit && (result.more || items.length === MAX_OPERATIONS)) {
      const { op: _, prefix, offset = 0, ...rest } = request;
      const further = { ...rest, offset: offset + items.length, limit: limit - items.length };
      items.push(...(await memory.searchItems(prefix, further)));
    }
    return items.map((item) => ({ ...itemOf(item), score: item.score ?? undefined }));
  }
  if (request.op === "namespaces") {
    let page = result.namespaces ?? [];
    if (!isSelectedHere(operation as ListNamespacesOperation)) return page;
    const namespaces = [...page];
    while (page.length === MAX_OPERATIONS) {
      page = await memory.listNamespaces({ ...request, offset: namespaces.length });
      namespaces.push(...page);
    }
    return selected(namespaces, operation as ListNamespacesOperation);
  }
  return undefined;
}

/** Return the namespaces that a listing selects, in order. */
function selected(namespaces: string[][], operation: ListNamespacesOperation): string[][] {
  const { matchConditions = [], maxDepth, limit = 100, offset = 0 } = operation;
  const fits = (namespace: string[]) =>
    matchConditions.every(({ matchType, path }) => {
      const part = matchType === "prefix" ? namespace : namespace.slice(-path.length);
      return path.length <= namespace.length && path.every((label, place) => label === "*" || label === part[place]);
    });
  const cut = namespaces.filter(fits).map((namespace) => namespace.slice(0, maxDepth));
  const unique = new Map(cut.map((namespace) => [namespace.join("."), namespace]));
  return [...unique.keys()]
    .sort()
    .slice(offset, offset + limit)
    .map((name) => unique.get(name)!);
}

function itemOf({ namespace, key, value, created_at: createdAt, updated_at: updatedAt }: Stored): Item {
  return { namespace, key, value, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
}
