"""Every route that is declared, whether a process serves it or not."""

import importlib
import inspect
import pkgutil

from headrace.api import handlers
from headrace.api.routes.route import Route, routes_of

_MODULES = (
    *(f"{handlers.__name__}.{each.name}" for each in pkgutil.iter_modules(handlers.__path__)),
    "headrace.api.ingress.ingress",
    "headrace.controlplane.handler",
)


def declared_routes() -> list[Route]:
    """Find them in the modules of handlers; nothing of a handler is started."""
    return [
        route
        for name in _MODULES
        for _, handler in inspect.getmembers(importlib.import_module(name), inspect.isclass)
        if handler.__module__ == name and handler.__name__.endswith(("Handler", "Ingress"))
        for route, _ in routes_of(handler.__new__(handler))
    ]
