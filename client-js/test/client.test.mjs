import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ConflictError, MemoryClient, NotFoundError, ValidationFailedError } from "keeps-client";
import { URL_OF_SERVER, collected, keyForAnyUser, newMemory, newTenant, tokenOf } from "./service.mjs";

test("a memory is stored, recalled, updated and forgotten", async () => {
  const memory = newMemory();
  const stored = await memory.remember("Alice is allergic to peanuts.", { tags: ["health"], importance: 0.9 });
  assert.equal(stored.status, "created");
  assert.deepEqual(stored.memory.tags, ["health"]);
  assert.equal((await memory.remember("Alice is allergic to peanuts.")).status, "unchanged");

  const result = await memory.recall("What must she not eat?", { limit: 1 });
  assert.equal(result.hits[0].memory.memory_id, stored.memory_id);
  assert.equal(typeof result.hits[0].relevance, "number");
  assert.match((await memory.context("What must she not eat?", { budget_tokens: 500 })).prompt, /peanuts/);

  const changed = await memory.update(stored.memory_id, { importance: 0.5 }, { if_version: 1 });
  assert.equal((await memory.get(changed.memory_id)).importance, 0.5);
  await assert.rejects(memory.update(stored.memory_id, { importance: 0.1 }, { if_version: 1 }), ConflictError);

  assert.equal((await memory.forget(stored.memory_id)).status, "forgotten");
  assert.deepEqual((await memory.recall("peanuts")).hits, []);
  assert.equal((await memory.restore(stored.memory_id)).status, "restored");
  const types = (await memory.history(stored.memory_id)).map((event) => event.type);
  assert.deepEqual(types, ["memory.written", "memory.written", "memory.deleted", "memory.restored"]);
});

test("a key has one current value", async () => {
  const memory = newMemory();
  const place = { namespace: "profile", key: "home" };
  await memory.remember("Alice lives in Leeds.", place);
  assert.equal((await memory.remember("Alice lives in York.", place)).status, "updated");
  assert.equal((await memory.find("profile", "home")).content, "Alice lives in York.");
  assert.equal(await memory.find("profile", "office"), null);
  await memory.forget(place, { hard: true });
  assert.equal(await memory.find("profile", "home"), null);
});

test("a list is read page by page, with filters", async () => {
  const memory = newMemory();
  const items = Array.from({ length: 5 }, (_, number) => ({ content: `Note ${number}.`, tags: [`t${number % 2}`] }));
  const receipts = await memory.rememberMany(items, { index: "later" });
  assert.deepEqual(
    receipts.map((receipt) => receipt.status),
    Array(5).fill("created"),
  );
  const contents = [];
  let cursor;
  do {
    const page = await memory.list({ limit: 2, cursor });
    contents.push(...page.items.map((item) => item.content));
    cursor = page.next_cursor;
  } while (cursor);
  assert.equal(new Set(contents).size, 5);
  const tagged = await memory.list({ filters: { tags: { contains: "t1" } } });
  assert.equal(tagged.items.length, 2);
});

test("users do not see each other's memories", async () => {
  const token = await keyForAnyUser();
  const alice = new MemoryClient({ baseUrl: URL_OF_SERVER, token, userId: "alice" });
  const bob = alice.forUser("bob");
  const { memory_id: id } = await alice.remember("Alice is allergic to peanuts.");
  await bob.remember("Bob plays chess.");
  assert.deepEqual(
    (await bob.list()).items.map((item) => item.content),
    ["Bob plays chess."],
  );
  assert.deepEqual(
    (await bob.recall("peanuts")).hits.map((hit) => hit.memory.user_id),
    ["bob"],
  );
  await assert.rejects(bob.get(id), NotFoundError);
  await assert.rejects(bob.forget(id), NotFoundError);
  assert.equal((await alice.get(id)).user_id, "alice");
});

test("a token of one user does not act for another", async () => {
  const memory = newMemory();
  await assert.rejects(memory.forUser("bob").list(), { code: "forbidden", status: 403 });
});

test("text and ids of any script arrive as they are", async () => {
  const token = await keyForAnyUser();
  const memory = new MemoryClient({ baseUrl: URL_OF_SERVER, token, userId: "Ōe 大江 🦉" });
  const content = 'Zoë’s naïve café – 大江健三郎 said: \u2028 “👩‍👩‍👧” "\\ \t\r\n end';
  const stored = await memory.remember(content, { namespace: "profil/näme", key: "a/b .. %2F?#", tags: ["日本"] });
  assert.equal(stored.memory.user_id, "Ōe 大江 🦉");
  assert.equal((await memory.get(stored.memory_id)).content, content);
  assert.equal((await memory.find("profil/näme", "a/b .. %2F?#")).content, content);
  for (const key of ["...", "a/b", "ü?#%", "%2E%2E", " "]) {
    await memory.store(key, { text: content }, "plän/1");
    assert.deepEqual(await memory.retrieve(key, "plän/1"), { text: content });
  }
  await assert.rejects(memory.remember("lone \ud800 surrogate"), ValidationFailedError);
  for (const key of ["lone \ud800", "", ".", ".."]) {
    await assert.rejects(memory.retrieve(key, "plan"), ValidationFailedError);
  }
  assert.throws(() => memory.forUser("lone \ud800"), ValidationFailedError);
  assert.throws(() => memory.forUser(" bob"), ValidationFailedError);
});

test("a conversation is stored with its facts, notes and session", async () => {
  const memory = newMemory();
  const first = await memory.say("I live in Leeds.", { session_id: "monday" });
  assert.deepEqual(
    first.facts.map((fact) => fact.memory.content),
    ["I live in Leeds."],
  );
  const messages = [
    { role: "user", content: "Where can I sail?" },
    { role: "assistant", content: "In Hull." },
  ];
  const receipt = await memory.storeExchange(messages, { session_id: "monday" });
  assert.equal(receipt.messages.length, 2);
  assert.equal((await memory.sessionNotes("monday")).message_count, 3);
  assert.equal(await memory.sessionNotes("tuesday"), null);
  await memory.createSession({ session_id: "tuesday", name: "Tuesday" });
  await memory.updateSession("tuesday", { name: "Shrove Tuesday" });
  assert.equal((await memory.getSession("tuesday")).name, "Shrove Tuesday");
  const start = await memory.listSessions({ limit: 1 });
  const second = await memory.listSessions({ limit: 1, cursor: start.next_cursor });
  assert.deepEqual([...start.items, ...second.items].map((session) => session.session_id).sort(), [
    "monday",
    "tuesday",
  ]);
  await memory.endSession("monday");
  assert.deepEqual(
    (await memory.listSessions({ ended: true })).items.map((session) => session.session_id),
    ["monday"],
  );
  assert.equal((await memory.deleteSession("tuesday")).deleted, true);
});

test("documents are added, searched, read and deleted", async () => {
  const memory = newMemory();
  const text = "# Handbook\n\nEverybody has thirty days of leave. 🦉";
  const attributes = { source: "handbook.md", tags: ["hr"] };
  const added = await memory.addDocument(text, attributes);
  assert.equal(added.status, "created");
  assert.equal((await memory.addDocument(new File([text], "copy.md"), attributes)).status, "unchanged");
  const { hits } = await memory.searchDocuments("How many days of leave does everybody have?", { limit: 1 });
  assert.match(hits[0].content, /thirty days/);
  const id = added.document.document_id;
  assert.match((await memory.readDocument(id)).text, /🦉/u);
  assert.equal((await memory.getDocument(id)).title, "Handbook");
  assert.deepEqual(
    (await memory.listDocuments()).items.map((document) => document.document_id),
    [id],
  );
  await memory.deleteDocument(id, { hard: true });
  assert.deepEqual((await memory.listDocuments()).items, []);
});

test("items are put, searched and deleted", async () => {
  const memory = newMemory();
  await memory.putItem(["settings", "ui"], "theme", { mode: "dark", level: 2 });
  await memory.putItem(["settings"], "language", { code: "en", level: 1 });
  assert.deepEqual((await memory.getItem(["settings", "ui"], "theme")).value, { mode: "dark", level: 2 });
  assert.equal(await memory.getItem(["settings"], "theme"), null);
  const matches = await memory.searchItems(["settings"], { filter: { level: { $gt: 1 } } });
  assert.deepEqual(
    matches.map((item) => item.key),
    ["theme"],
  );
  assert.deepEqual(await memory.listNamespaces({ prefix: ["*"] }), [["settings"], ["settings", "ui"]]);
  await memory.deleteItem(["settings"], "language");
  assert.equal((await memory.searchItems([])).length, 1);
});

test("working memory is shared, atomic and versioned", async () => {
  const token = await keyForAnyUser();
  const alice = new MemoryClient({ baseUrl: URL_OF_SERVER, token, userId: "alice" });
  const bob = alice.forUser("bob");
  const version = (await alice.store("budget", { limit: 300 }, "trip")).version;
  assert.deepEqual(await bob.retrieve("budget", "trip"), { limit: 300 });
  await assert.rejects(bob.store("budget", {}, "trip", { expected_version: version + 1 }), (error) => {
    assert(error instanceof ConflictError);
    assert.equal(error.currentVersion, version);
    return true;
  });
  await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? alice : bob).increment("count", "trip")));
  assert.equal(await alice.increment("count", "trip", 0), 10);
  assert.deepEqual(await bob.appendToList("steps", "search", "trip"), ["search"]);
  assert.deepEqual(
    (await alice.listPlanState("trip")).items.map((item) => item.key),
    ["budget", "count", "steps"],
  );
  await alice.deletePlanState("trip", "count");
  assert.deepEqual(await alice.retrieveWithVersion("count", "trip"), [null, 0]);
});

test("any route can be called", async () => {
  const memory = newMemory();
  const entity = await memory.request("post", "/v1/graph/entities", { body: { name: "Acme" } });
  const path = { entity_id: entity.entity_id };
  assert.equal((await memory.request("get", "/v1/graph/entities/{entity_id}", { path })).name, "Acme");
});

test("events are read to the end of the log", async () => {
  const memory = newMemory();
  for (let number = 0; number < 5; number += 1) await memory.remember(`Note ${number}.`);
  const events = await collected(memory.events({ types: ["memory.written"] }));
  assert.deepEqual(
    events.map((event) => event.data.value),
    [0, 1, 2, 3, 4].map((number) => `Note ${number}.`),
  );
  const rest = await collected(memory.events({ after: events[2].sequence, types: ["memory.written"] }));
  assert.deepEqual(
    rest.map((event) => event.id),
    events.slice(3).map((event) => event.id),
  );
});

test("the environment configures a client", async () => {
  const environment = { KEEPS_URL: `${URL_OF_SERVER}/`, KEEPS_TOKEN: tokenOf(newTenant(), "carol"), KEEPS_USER_ID: "" };
  const memory = MemoryClient.fromEnv({}, environment);
  assert.equal((await memory.remember("Carol sails.")).memory.user_id, "carol");
  assert.equal(MemoryClient.fromEnv({ baseUrl: "http://[::1]:1" }, environment).baseUrl, "http://[::1]:1");
  assert.equal(new MemoryClient().baseUrl, "http://127.0.0.1:8765");
  for (const baseUrl of ["localhost:8765", "", "ftp://host", "http://host/?a=b", "http://alice:hunter2@host"]) {
    assert.throws(
      () => new MemoryClient({ baseUrl }),
      (error) => {
        assert(error instanceof ValidationFailedError);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      },
    );
  }
  assert.throws(() => new MemoryClient({ token: "a\nb" }), ValidationFailedError);
});

test("a client does not show its token", () => {
  const memory = new MemoryClient({ token: "secret-token" });
  assert.doesNotMatch(inspect(memory, { depth: 9, showHidden: true }) + JSON.stringify(memory), /secret-token/);
});
