"""The plugin that `keeps setup openclaw` writes: OpenClaw's hooks are functions of a plugin, not commands. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

MADE = "Made by keeps setup openclaw, which also removes it."
"""Marks files that only Keeps writes."""
ENTRY = {"enabled": True, "hooks": {"allowConversationAccess": True}}
"""The plugin's entry in OpenClaw's settings. Without the access, OpenClaw calls none of the hooks."""
FOLDER = ".openclaw/extensions/keeps"
_MANIFEST: dict[str, Any] = {
    "id": "keeps",
    "name": "Keeps",
    "description": f"Memory. {MADE}",
    "activation": {"onCapabilities": ["hook"]},
    "configSchema": {"type": "object", "additionalProperties": False, "properties": {}},
}
_PACKAGE = {
    "name": "keeps-openclaw",
    "version": "1.0.0",
    "description": MADE,
    "private": True,
    "type": "module",
    "openclaw": {"extensions": ["./index.js"]},
}
_PROGRAM = """// %(made)s
import { spawn } from "node:child_process";

const COMMAND = %(command)s;
const ARGUMENTS = %(arguments)s;
const MOST_RUNS = 100;
const prompts = new Map();

// Other conversations, such as groups, are those of other people: they must neither see nor fill this memory.
function isOwn(ctx) {
  const origin = ctx.inputProvenance?.kind ?? "external_user";
  const isMain = /^agent:[^:]+:main$/.test(ctx.sessionKey ?? "");
  return isMain && (ctx.trigger ?? "user") === "user" && origin === "external_user";
}

function run(event, payload) {
  return new Promise((resolve) => {
    const options = { stdio: ["pipe", "pipe", "ignore"], timeout: 5000 };
    const child = spawn(COMMAND, ["hook", event, ...ARGUMENTS], options);
    let output = "";
    child.on("error", () => resolve(""));
    child.on("close", () => resolve(output));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (data) => (output += data));
    child.stdin.end(JSON.stringify(payload));
  });
}

async function contextOf(event, payload) {
  try {
    return JSON.parse(await run(event, payload)).hookSpecificOutput.additionalContext;
  } catch {
    return "";
  }
}

function common(ctx) {
  return { session_id: ctx.sessionId ?? ctx.sessionKey, cwd: ctx.workspaceDir };
}

function textOf(message) {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

export default {
  id: "keeps",
  name: "Keeps",
  register(api) {
    api.on("before_prompt_build", async (event, ctx) => {
      const prompt = event.currentUserMessage ?? event.prompt;
      if (!isOwn(ctx) || !prompt) return undefined;
      if (prompts.size >= MOST_RUNS) prompts.delete(prompts.keys().next().value);
      prompts.set(ctx.runId, prompt);
      const events = event.messages.length ? ["UserPromptSubmit"] : ["SessionStart", "UserPromptSubmit"];
      const contexts = await Promise.all(events.map((name) => contextOf(name, { ...common(ctx), prompt })));
      const context = contexts.filter(Boolean).join("\\n");
      return context ? { appendContext: context } : undefined;
    });
    api.on("agent_end", async (event, ctx) => {
      const runId = event.runId ?? ctx.runId;
      const prompt = prompts.get(runId);
      prompts.delete(runId);
      if (!isOwn(ctx) || !event.success || !prompt) return;
      const answer = event.messages.findLast((message) => message.role === "assistant" && textOf(message));
      const turn = { generation_id: runId, timestamp: new Date().toISOString(), prompt };
      await run("agent_end", { ...common(ctx), ...turn, prompt_response: textOf(answer) });
    });
  },
};
"""


def _manifest(_command: str, _arguments: Sequence[str]) -> str:
    return json.dumps(_MANIFEST, indent=2) + "\n"


def _package(_command: str, _arguments: Sequence[str]) -> str:
    return json.dumps(_PACKAGE, indent=2) + "\n"


def _program(command: str, arguments: Sequence[str]) -> str:
    values = {"made": MADE, "command": json.dumps(command), "arguments": json.dumps(list(arguments))}
    return _PROGRAM % values


FILES: dict[str, Callable[[str, Sequence[str]], str]] = {
    "openclaw.plugin.json": _manifest,
    "package.json": _package,
    "index.js": _program,
}
"""Each returns the text of a file of the plugin, from the command and its arguments."""
