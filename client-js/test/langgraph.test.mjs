import assert from "node:assert/strict";
import { test } from "node:test";
import { AsyncBatchedStore, BaseStore, InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { ForbiddenError, MemoryClient, UnavailableError, ValidationFailedError } from "keeps-client";
import { KeepsStore } from "keeps-client/langgraph";
import { URL_OF_SERVER, keyForAnyUser, newMemory, newTenant, tokenOf } from "./service.mjs";

const keysOf = (items) => items.map((item) => item.key);
const newStore = (options) => new KeepsStore(newMemory(), options);

test("an item is put, got, searched and deleted", async () => {
  const store = newStore();
  assert(store instanceof BaseStore);
  await store.put(["docs", "a"], "k", { text: "žluťoučký 🐴", n: 1 });
  const item = await store.get(["docs", "a"], "k");
  assert.deepEqual([item.namespace, item.key, item.value], [["docs", "a"], "k", { text: "žluťoučký 🐴", n: 1 }]);
  assert(item.createdAt instanceof Date && item.updatedAt >= item.createdAt);
  await store.put(["docs", "a"], "k", { text: "kůň", n: 2 });
  const changed = await store.get(["docs", "a"], "k");
  assert.deepEqual([changed.value.n, changed.createdAt], [2, item.createdAt]);
  assert(changed.updatedAt >= item.updatedAt);
  assert.deepEqual(keysOf(await store.search(["docs"], { filter: { n: { $gte: 1 } } })), ["k"]);
  assert.deepEqual(await store.search(["doc"]), []);
  await store.delete(["docs", "a"], "k");
  assert.equal(await store.get(["docs", "a"], "k"), null);
  assert.equal(await store.get([], "k"), null);
  await store.delete(["docs", "a"], "k");
  assert.equal(store.failures, 0);
});

test("a batch runs in order", async () => {
  const results = await newStore().batch([
    { namespace: ["test", "foo"], key: "k1", value: { data: 1 } },
    { namespace: ["test", "foo"], key: "k1" },
    { namespacePrefix: ["test"], filter: { data: 1 } },
    { namespace: ["test", "foo"], key: "k1", value: null },
    { namespace: ["test", "foo"], key: "k1" },
    { limit: 10, offset: 0 },
    { namespace: ["test", "bar"], key: "k2", value: { data: 2 } },
    { matchConditions: [{ matchType: "suffix", path: ["bar"] }], maxDepth: 1, limit: 10, offset: 0 },
  ]);
  assert.equal(results[1].value.data, 1);
  assert.deepEqual(keysOf(results[2]), ["k1"]);
  assert.deepEqual([results[4], results[5], results[7]], [null, [], [["test"]]]);
  assert.deepEqual([results[0], results[3], results[6]], [undefined, undefined, undefined]);
});

test("an invalid operation stops the batch before anything is written", async () => {
  const store = newStore();
  const put = { namespace: ["valid"], key: "k", value: {} };
  await assert.rejects(store.batch([put, { namespace: ["foo.bar"], key: "k" }]), InvalidNamespaceError);
  await assert.rejects(store.batch([put, { namespace: [], key: "k", value: {} }]), InvalidNamespaceError);
  await assert.rejects(store.batch([put, { namespacePrefix: [], filter: { a: { $bad: 1 } } }]), ValidationFailedError);
  await assert.rejects(store.batch([put, { namespacePrefix: [], filter: { a: undefined } }]), ValidationFailedError);
  await assert.rejects(store.put(["langgraph"], "k", {}), InvalidNamespaceError);
  await assert.rejects(store.put([], "k", {}), InvalidNamespaceError);
  await assert.rejects(store.put(["valid"], "k", { v: "x".repeat(300_000) }), ValidationFailedError);
  await assert.rejects(store.put(["valid"], "k", { v: "\0" }), ValidationFailedError);
  assert.equal(await store.get(["valid"], "k"), null);
});

test("items are found by their paths, or not by meaning", async () => {
  const store = newStore();
  const value = { a: { b: "two hens" }, c: [{ d: "a ferry" }, { d: "a tax return" }], e: [1, "the last"], f: "none" };
  await store.put(["n"], "paths", value, ["a.b", "c[*].d", "e[-1]"]);
  await store.put(["n"], "nothing", value, false);
  await store.put(["n"], "missing", value, ["x.y"]);
  for (const query of ["two hens", "a ferry", "a tax return", "the last"]) {
    const [best, ...others] = await store.search(["n"], { query });
    assert.deepEqual([best.key, others.length], ["paths", 0]);
    assert(best.score > 0.99);
  }
  assert(((await store.search(["n"], { query: "none" }))[0].score ?? 0) < 0.9);
  const many = { c: Array.from({ length: 250 }, (_, number) => ({ d: `line ${number}` })) };
  await store.put(["many"], "k", many, ["c[*].d"]);
  assert.deepEqual(keysOf(await store.search(["many"], { query: "line 249" })), ["k"]);
});

test("a store has paths of its own", async () => {
  const value = { text: "two hens", other: "a ferry" };
  const byText = newStore({ index: { fields: ["text"] } });
  await byText.put(["n"], "k", value);
  assert((await byText.search(["n"], { query: "two hens" }))[0].score > 0.99);
  const byNothing = newStore({ index: false });
  await byNothing.put(["n"], "k", value);
  assert.deepEqual(await byNothing.search(["n"], { query: "two hens" }), []);
  assert.equal((await byNothing.search(["n"]))[0].score, undefined);
});

test("long searches and lists are whole", async () => {
  const store = newStore({ index: false });
  for (let start = 0; start < 1_050; start += 350) {
    const numbers = Array.from({ length: 350 }, (_, number) => start + number);
    await store.batch(numbers.map((number) => ({ namespace: ["m", `${number}`], key: "k", value: {} })));
  }
  assert.equal((await store.search(["m"], { limit: 2_000 })).length, 1_050);
  assert.equal((await store.search(["m"], { limit: 30, offset: 1_030 })).length, 20);
  assert.equal((await store.listNamespaces({ prefix: ["m"], limit: 2_000 })).length, 1_050);
  const matchConditions = [
    { matchType: "prefix", path: ["m"] },
    { matchType: "prefix", path: ["*", "7"] },
  ];
  assert.deepEqual(await store.batch([{ matchConditions, limit: 10, offset: 0 }]), [[["m", "7"]]]);
  for (let number = 0; number < 20; number += 1) await store.put(["n"], `${number}`, { v: "x".repeat(250_000) });
  assert.equal((await store.search(["n"], { limit: 18, offset: 1 })).length, 18);
});

test("namespaces are listed by prefix, suffix, depth and page", async () => {
  const store = newStore({ index: false });
  const namespaces = [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["z"]];
  await store.batch(namespaces.map((namespace) => ({ namespace, key: "k", value: {} })));
  assert.deepEqual(await store.listNamespaces(), namespaces);
  assert.deepEqual(await store.listNamespaces({ prefix: ["a", "b"] }), namespaces.slice(0, 2));
  assert.deepEqual(await store.listNamespaces({ prefix: ["a", "*"], suffix: ["c"] }), [namespaces[0], namespaces[2]]);
  assert.deepEqual(await store.listNamespaces({ maxDepth: 2 }), [["a", "b"], ["a", "x"], ["z"]]);
  assert.deepEqual(await store.listNamespaces({ limit: 1, offset: 3 }), [["z"]]);
});

test("filters ask for fields of objects", async () => {
  const store = newStore({ index: false });
  await store.put(["n"], "a", { p: { lang: "de", n: 1 }, n: 1 });
  await store.put(["n"], "b", { p: { lang: "de" }, n: 2.5 });
  await store.put(["n"], "c", { p: { deep: { x: [1, 2] } }, n: "text" });
  for (const [filter, keys] of [
    [{ p: { lang: "de" } }, ["a", "b"]],
    [{ p: { $eq: { lang: "de" } } }, ["b"]],
    [{ p: { n: { $gte: 1 } } }, ["a"]],
    [{ n: { $gt: 1, $lt: 3 } }, ["b"]],
    [{ n: { $ne: 1 } }, ["b", "c"]],
    [{ n: "text", p: { deep: { x: [1, 2] } } }, ["c"]],
    [{ unknown: null }, []],
  ]) {
    assert.deepEqual(keysOf(await store.search(["n"], { filter })).sort(), keys, JSON.stringify(filter));
  }
});

test("values that JSON would lose are refused", async () => {
  const store = newStore({ index: false });
  const at = new Date("2026-01-31T00:00:00Z");
  await store.put(["n"], "k", { at, left: undefined, pair: [1, ["a", null]], nested: Object.create(null) });
  const { value } = await store.get(["n"], "k");
  assert.deepEqual(value, { at: at.toISOString(), pair: [1, ["a", null]], nested: {} });
  for (const lost of [
    new Map([[1, 2]]),
    new Set([1]),
    NaN,
    Infinity,
    10n,
    Symbol("s"),
    () => 1,
    new Uint8Array(2),
    [undefined],
  ]) {
    await assert.rejects(store.put(["n"], "k", { deep: [{ lost }] }), (error) => {
      assert(error instanceof ValidationFailedError);
      assert.match(error.detail, /^deep\[0\]\.lost/);
      return true;
    });
    await assert.rejects(store.search(["n"], { filter: { lost } }), ValidationFailedError);
  }
});

test("a label names the user", async () => {
  const tenant = newTenant();
  const client = new MemoryClient({ baseUrl: URL_OF_SERVER, token: await keyForAnyUser(tenant) });
  const store = new KeepsStore(client, { userLabel: 1 });
  const users = ["alice", "bob", "уж/1"];
  for (const user of users) await store.put(["memories", user, "facts"], "k", { of: user });
  assert.deepEqual(
    (await store.search(["memories", "alice"])).map((item) => item.value),
    [{ of: "alice" }],
  );
  const mixed = await store.batch(
    [...users, "nobody"].map((user) => ({ namespace: ["memories", user, "facts"], key: "k" })),
  );
  assert.deepEqual(
    mixed.map((item) => item?.value.of),
    [...users, undefined],
  );
  await assert.rejects(store.search(["memories"]), InvalidNamespaceError);
  await assert.rejects(store.get(["memories"], "k"), InvalidNamespaceError);
  await assert.rejects(store.put(["memories"], "k", {}), InvalidNamespaceError);
  assert.deepEqual(await store.listNamespaces({ prefix: ["memories", "bob"] }), [["memories", "bob", "facts"]]);
  assert.deepEqual(await store.listNamespaces({ prefix: ["*", "bob"] }), [["memories", "bob", "facts"]]);
  assert.deepEqual(
    (await client.forUser("bob").searchItems()).map((item) => item.value),
    [{ of: "bob" }],
  );
  await assert.rejects(store.listNamespaces(), ForbiddenError);
  const admin = new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(tenant, "admin", "admin") });
  const everybody = await new KeepsStore(admin, { userLabel: 1 }).listNamespaces({
    prefix: ["memories", "*"],
    maxDepth: 2,
  });
  assert.deepEqual(
    everybody,
    users.map((user) => ["memories", user]),
  );
});

test("a token of one user serves that user only", async () => {
  const store = new KeepsStore(newMemory(), { userLabel: 0 });
  await store.put(["alice"], "k", {});
  await assert.rejects(store.put(["bob"], "k", {}), ForbiddenError);
  await assert.rejects(store.get(["bob"], "k"), ForbiddenError);
  await assert.rejects(store.search(["bob"]), ForbiddenError);
});

test("reads return nothing while memory is away, and writes throw", async () => {
  const errors = [];
  const away = new MemoryClient({ baseUrl: "http://127.0.0.1:1" });
  const store = new KeepsStore(away, { onFailure: (error) => errors.push(error.code) });
  assert.equal(await store.get(["n"], "k"), null);
  assert.deepEqual(await store.search(["n"]), []);
  assert.deepEqual(await store.listNamespaces(), []);
  assert.equal(store.failures, 3);
  assert.deepEqual(errors, Array(3).fill("unavailable"));
  await assert.rejects(store.put(["n"], "k", {}), UnavailableError);
});

test("the store works batched, and in a graph", async () => {
  const store = newStore();
  const batched = new AsyncBatchedStore(store);
  batched.start();
  await Promise.all(Array.from({ length: 30 }, (_, n) => batched.put(["n"], `${n % 5}`, { n })));
  const numbers = (await batched.search(["n"])).map((item) => item.value.n);
  assert.deepEqual(numbers.sort(), [25, 26, 27, 28, 29]);
  await batched.stop();

  const State = Annotation.Root({ answer: Annotation() });
  const graph = new StateGraph(State)
    .addNode("reply", async (_, config) => {
      await config.store.put(["memories", "alice"], "diet", { text: "Alice is allergic to peanuts." });
      const [item] = await config.store.search(["memories", "alice"], { query: "What must she not eat?" });
      return { answer: item.value.text };
    })
    .addEdge(START, "reply")
    .compile({ store });
  assert.deepEqual(await graph.invoke({}), { answer: "Alice is allergic to peanuts." });
});
