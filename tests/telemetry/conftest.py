from tests.disks import disk

__all__ = ["disk"]
