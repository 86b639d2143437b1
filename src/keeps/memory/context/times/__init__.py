from keeps.memory.context.times.grammar import time_span
from keeps.memory.context.times.past_talk import speaks_of_last_time
from keeps.memory.context.times.spans import Span

__all__ = ["Span", "speaks_of_last_time", "time_span"]
