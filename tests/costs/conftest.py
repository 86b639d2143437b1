from tests.lifecycle.conftest import clock

__all__ = ["clock"]
