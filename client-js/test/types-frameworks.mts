// Checked by the compiler in a project that has the tarball and the frameworks: it never runs.
import { generateText, type LanguageModel } from "ai";
import { InMemoryStore, type BaseStore } from "@langchain/langgraph";
import { MemoryClient } from "keeps-client";
import { type KeepsTools, keepsTools } from "keeps-client/ai";
import { KeepsStore } from "keeps-client/langgraph";

declare const model: LanguageModel;
const memory = MemoryClient.fromEnv();

export const store: BaseStore = Math.random() > 0.5 ? new KeepsStore(memory, { index: false }) : new InMemoryStore();
export const tools: KeepsTools = keepsTools(memory);
await generateText({ model, tools: keepsTools(memory), prompt: "Hello." });
// @ts-expect-error a position, not a name
new KeepsStore(memory, { userLabel: "user" });
