// The model of the examples: it looks for memories, and answers from what it gets.
import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const result = JSON.stringify(prompt.at(-1));
    if (prompt.at(-1).role !== "tool") {
      const call = {
        type: "tool-call",
        toolCallId: "1",
        toolName: "recall",
        input: '{"query":"What may Alice not eat?"}',
      };
      return { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
    }
    const text = result.includes("peanuts") ? "Something without peanuts." : "Anything.";
    return { content: [{ type: "text", text }], finishReason: { unified: "stop" }, usage, warnings: [] };
  },
});
