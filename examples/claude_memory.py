"""Claude with its memory tool, whose files are memories in Keeps: with a history, and each user's alone.

pip install 'keeps[claude]' && ANTHROPIC_API_KEY=… python examples/claude_memory.py claude-sonnet-5-5
"""

from __future__ import annotations

import sys

from anthropic import Anthropic

from keeps.integrations.claude import KeepsMemoryTool


def main(client: Anthropic, tool: KeepsMemoryTool, model: str) -> list[str]:
    """Two conversations; what the model said at the end of each."""
    said: list[str] = []
    for text in ("Remember that I'm allergic to peanuts.", "What must I not eat? Look into your memory first."):
        runner = client.beta.messages.tool_runner(
            model=model, max_tokens=1_000, messages=[{"role": "user", "content": text}], tools=[tool]
        )
        answer = runner.until_done()
        said.append("".join(block.text for block in answer.content if block.type == "text"))
    return said


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    opened = KeepsMemoryTool(user_id="alice")
    try:
        for line in main(Anthropic(), opened, sys.argv[1]):
            print(line)
    finally:
        opened.close()
