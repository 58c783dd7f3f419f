"""Errors of Knative objects and of the cluster that holds them."""

from __future__ import annotations

from headrace.errors.base import HeadraceError
from headrace.errors.faults import InvalidDocument


class InvalidManifest(InvalidDocument):
    """A Knative object that is not accepted. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-manifest"


class ClusterRefused(HeadraceError):
    """The API server of a cluster refused a call; `status` is 0 where it can't be reached."""

    code = "cluster-refused"

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status
