from keeps.context.times.grammar import time_span
from keeps.context.times.past_talk import speaks_of_last_time
from keeps.context.times.spans import Span

__all__ = ["Span", "speaks_of_last_time", "time_span"]
