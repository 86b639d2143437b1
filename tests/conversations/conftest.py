from tests.lifecycle.conftest import clock, living

__all__ = ["clock", "living"]
