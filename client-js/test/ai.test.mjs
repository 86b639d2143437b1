import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { MemoryClient } from "keeps-client";
import { INSTRUCTIONS, keepsTools } from "keeps-client/ai";
import { URL_OF_SERVER, keyForAnyUser, newMemory, proxy } from "./service.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Run the AI SDK with a model that makes these tool calls, one in each step. Returns the outputs of the tools. */
async function called(tools, ...calls) {
  const steps = calls.map(([toolName, input], number) => ({
    content: [{ type: "tool-call", toolCallId: `call-${number}`, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls", raw: undefined },
    usage,
    warnings: [],
  }));
  const end = {
    content: [{ type: "text", text: "Done." }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  };
  const model = new MockLanguageModelV4({ doGenerate: [...steps, end] });
  const system = { instructions: INSTRUCTIONS };
  const result = await generateText({
    model,
    tools,
    ...system,
    prompt: "Hello.",
    stopWhen: isStepCount(calls.length + 1),
  });
  assert.equal(result.text, "Done.");
  return { model, outputs: result.steps.flatMap((step) => step.toolResults.map(({ output }) => output)) };
}

test("a model stores, finds, corrects and forgets", async () => {
  const memory = newMemory();
  const tools = keepsTools(memory, { agent_id: "concierge", session_id: "monday" });
  const input = {
    content: "Alice is allergic to peanuts.",
    tags: "health",
    namespace: "diet",
    key: "allergy",
    importance: null,
  };
  const { model, outputs } = await called(tools, ["remember", input], ["recall", { query: "What must she not eat?" }]);
  const id = outputs[0].id;
  assert.equal(outputs[0].status, "created");
  const [shown] = outputs[1].memories;
  assert.deepEqual([shown.id, shown.text, shown.key, shown.tags], [id, input.content, "diet/allergy", ["health"]]);
  const stored = await memory.get(id);
  assert.deepEqual([stored.agent_id, stored.session_id, stored.visibility], ["concierge", "monday", "private"]);

  const schemas = model.doGenerateCalls[0].tools;
  assert.deepEqual(
    schemas.map(({ name }) => name),
    ["remember", "recall", "update_memory", "forget"],
  );
  assert.deepEqual(schemas[1].inputSchema.required, ["query"]);

  const later = await called(
    tools,
    ["update_memory", { memory_id: id, content: "Alice is allergic to nuts." }],
    ["recall", { query: "nuts" }],
  );
  const newest = later.outputs[1].memories[0];
  assert.equal(newest.text, "Alice is allergic to nuts.");
  const last = await called(tools, ["forget", { memory_id: newest.id }], ["recall", { query: "nuts" }]);
  assert.deepEqual(last.outputs[0], { status: "forgotten", id: newest.id, note: "It can be restored for 30 days." });
  assert.deepEqual(last.outputs[1], { memories: [], note: "Nothing is stored that fits." });
});

test("tools work on the memory of one user, and cannot share", async () => {
  const memory = new MemoryClient({ baseUrl: URL_OF_SERVER, token: await keyForAnyUser() });
  const [alice, bob] = ["alice", "bob"].map((user) => keepsTools(memory.forUser(user)));
  const input = { content: "Alice is allergic to peanuts.", visibility: "tenant", user_id: "bob" };
  const { outputs } = await called(alice, ["remember", input]);
  const seen = await called(
    bob,
    ["recall", { query: "peanuts" }],
    ["forget", { memory_id: outputs[0].id, hard: true }],
  );
  assert.deepEqual(seen.outputs[0].memories, []);
  assert.match(seen.outputs[1].error, /Call recall for the ids/);
  assert.equal((await memory.forUser("alice").get(outputs[0].id)).deleted_at ?? null, null);
});

test("weak hits, shared hits and text from tools are marked", async () => {
  const token = await keyForAnyUser();
  const alice = new MemoryClient({ baseUrl: URL_OF_SERVER, token, userId: "alice" });
  await alice.forUser("bob").remember("The office ferry leaves at nine.", { visibility: "tenant" });
  await alice.remember("The ferry is late today.", { source: "https://example.org" });
  await alice.remember(`The ferry is long: ${"🚢".repeat(700)}`);
  const { memories } = (await called(keepsTools(alice), ["recall", { query: "When does the ferry leave?" }]))
    .outputs[0];
  assert.equal(memories.find((memory) => memory.text.includes("nine")).shared_by, "bob");
  assert.equal(memories.find((memory) => memory.text.includes("late today")).from_outside, true);
  const long = memories.find((memory) => memory.text.includes("🚢"));
  assert.match(long.text, /🚢…$/u);
  assert.equal(Array.from(long.text).length, 601);

  const weak = (await called(keepsTools(alice), ["recall", { query: "quantum chromodynamics" }])).outputs[0];
  assert(weak.memories.every((memory) => memory.weak));
  assert.match(weak.note, /nearest/);
  const strict = keepsTools(alice, { min_relevance: 0.9 });
  assert.deepEqual((await called(strict, ["recall", { query: "quantum chromodynamics" }])).outputs[0].memories, []);
});

test("a long answer is cut", async () => {
  const memory = newMemory();
  await memory.rememberMany(
    Array.from({ length: 30 }, (_, n) => ({ content: `Ferry ${n} ${"sails far ".repeat(50)}` })),
  );
  const { outputs } = await called(keepsTools(memory), ["recall", { query: "ferry", limit: 30 }]);
  assert(JSON.stringify(outputs[0]).length < 6_500);
  assert(outputs[0].memories.length >= 5);
});

test("a wrong argument is explained to the model", async () => {
  const { outputs } = await called(
    keepsTools(newMemory()),
    ["remember", { content: " " }],
    ["recall", { query: "x", limit: 900 }],
  );
  assert.match(outputs[0].error, /^That was not done: .*whitespace.* Change that and call again\.$/);
  assert.match(outputs[1].error, /limit/);
});

test("the agent continues while memory is away", async () => {
  const errors = [];
  const away = new MemoryClient({ baseUrl: "http://127.0.0.1:1", token: "secret-token" });
  const tools = keepsTools(away, { onFailure: (error) => errors.push(error.code) });
  const { outputs } = await called(tools, ["recall", { query: "peanuts" }]);
  assert.match(outputs[0].error, /^Memory cannot be reached right now/);
  assert.deepEqual(errors, ["unavailable"]);
  const wrong = keepsTools(newMemory({ token: "wrong" }), { onFailure: (error) => errors.push(error.code) });
  assert.match((await called(wrong, ["recall", { query: "x" }])).outputs[0].error, /not allowed/);
  assert.deepEqual(errors, ["unavailable", "unauthenticated"]);
});

test("an aborted agent stops its call", async (t) => {
  const place = await proxy(() => "hangs");
  t.after(place.close);
  const controller = new AbortController();
  const tools = keepsTools(newMemory({ baseUrl: place.url }));
  const call = tools.recall.execute({ query: "x" }, { toolCallId: "1", messages: [], abortSignal: controller.signal });
  const reason = new Error("the user left");
  controller.abort(reason);
  await assert.rejects(call, reason);
});
