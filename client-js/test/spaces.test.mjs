import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryClient, ConflictError, ForbiddenError, NotFoundError, ValidationFailedError } from "keeps-client";
import { URL_OF_SERVER, newTenant, tokenOf } from "./service.mjs";

function people(...names) {
  const tenant = newTenant();
  return names.map((name) => new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(tenant, name) }));
}

test("a space is shared by its members alone", async () => {
  const [alice, bob, mallory] = people("alice", "bob", "mallory");
  const made = await alice.createSpace("bakery", { title: "The bakery" });
  assert.deepEqual([made.space_id, made.title, made.role], ["bakery", "The bakery", "curator"]);
  await assert.rejects(mallory.createSpace("bakery"), ConflictError);
  await alice.setSpaceMember("bakery", "bob", "reader");
  await alice.setSpaceMember("bakery", "courier", "writer", {
    member_type: "agent",
    expires_at: "2999-01-01T00:00:00Z",
  });

  const stored = await alice.forSpace("bakery").remember("The oven needs repair.");
  await alice.remember("The bell needs repair.", { space: "bakery" });
  await alice.remember("My bicycle needs repair.");
  assert.equal(stored.memory.user_id, "(space) bakery");
  const words = async (memory, options) =>
    (await memory.recall("What needs repair?", options)).hits.map((hit) => hit.memory.content.split(" ")[1]).sort();
  assert.deepEqual(await words(alice), ["bell", "bicycle", "oven"]);
  assert.deepEqual(await words(alice, { spaces: [] }), ["bicycle"]);
  assert.deepEqual(await words(alice.forSpace("bakery")), ["bell", "oven"]);
  assert.deepEqual(await words(bob, { spaces: ["bakery"] }), ["bell", "oven"]);
  assert.match((await bob.context("What needs repair?", { spaces: ["bakery"] })).prompt, /oven/);
  assert.deepEqual(await words(mallory), []);
  await assert.rejects(bob.forSpace("bakery").remember("The oven is fine."), ForbiddenError);
  await assert.rejects(mallory.forSpace("bakery").recall("oven"), NotFoundError);

  const readers = await alice.forSpace("bakery").listReaders(stored.memory_id);
  assert.deepEqual(readers.map((each) => `${each.reader_type} ${each.reader_id} ${each.role}`).sort(), [
    "agent courier writer",
    "user alice curator",
    "user bob reader",
  ]);
  assert.deepEqual(
    (await bob.listSpaces()).map((space) => [space.space_id, space.role, space.members]),
    [["bakery", "reader", 3]],
  );
  await bob.removeSpaceMember("bakery", "bob");
  assert.deepEqual(await words(bob), []);
  await alice.removeSpaceMember("bakery", "courier", { member_type: "agent" });
  assert.deepEqual(
    (await alice.getSpace("bakery")).member_list.map((member) => member.member_id),
    ["alice"],
  );
});

test("a space is archived and erased", async () => {
  const [alice] = people("alice");
  await alice.createSpace("cellar");
  const cellar = alice.forSpace("cellar");
  await cellar.remember("The port lies in row one.");
  assert.notEqual((await alice.updateSpace("cellar", { archived: true })).archived_at ?? null, null);
  await assert.rejects(cellar.remember("Late."), ForbiddenError);
  assert.equal((await alice.updateSpace("cellar", { archived: false, title: "Wine" })).title, "Wine");
  assert.equal((await cellar.remember("The sherry lies in row two.")).status, "created");
  assert.equal((await alice.eraseSpace("cellar")).complete, true);
  assert.deepEqual(await alice.listSpaces(), []);
  await assert.rejects(cellar.recall("port"), NotFoundError);
});

test("another user is not in the space, and a wrong id is refused before it is sent", async () => {
  const admin = new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(newTenant(), "alice") });
  await admin.createSpace("attic");
  await admin.forSpace("attic").remember("The trunk is locked.");
  assert.deepEqual((await admin.forSpace("attic").forUser("alice").list()).items, []);
  for (const wrong of ["", "a b", "-a", "é", "a".repeat(65), null]) {
    assert.throws(() => admin.forSpace(wrong), ValidationFailedError);
  }
});

test("a memory is shared with a space and with an agent, and unshared", async () => {
  const [alice, mallory] = people("alice", "mallory");
  await alice.createSpace("bakery");
  const { memory_id } = await alice.remember("The oven needs repair.");
  const copy = await alice.shareMemory(memory_id, { space: "bakery" });
  assert.deepEqual([copy.status, copy.memory.user_id], ["created", "(space) bakery"]);
  assert.equal(copy.memory.metadata.shared_from.memory_id, memory_id);
  assert.equal((await alice.shareMemory(memory_id, { space: "bakery" })).status, "unchanged");
  const other = await alice.shareMemory(memory_id, { agent_id: "baker" });
  assert.deepEqual([other.status, other.memory.agent_id], ["created", "baker"]);
  assert.equal((await alice.unshareMemory(memory_id, { space: "bakery" })).status, "forgotten");
  assert.equal((await alice.unshareMemory(memory_id, { agent_id: "baker" })).status, "forgotten");
  await assert.rejects(alice.unshareMemory(memory_id, { space: "bakery" }), NotFoundError);
  await assert.rejects(mallory.shareMemory(memory_id, { agent_id: "baker" }), NotFoundError);
  await assert.rejects(alice.shareMemory(memory_id, {}), ValidationFailedError);
});

test("administrators read what models cost", async () => {
  const tenant = newTenant();
  const memory = (role) => new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(tenant, "alice", role) });
  const costs = await memory("admin").costs({ by: "job", since: "2026-01-01", until: "2026-01-31" });
  assert.deepEqual([costs.by, costs.since, costs.until], ["job", "2026-01-01", "2026-01-31"]);
  assert.deepEqual([costs.lines, costs.total.calls], [[], 0]);
  await assert.rejects(memory("writer").costs(), ForbiddenError);
});
