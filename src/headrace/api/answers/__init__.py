"""What answers look like, as types: handlers name them in their routes, and the OpenAPI document describes them.

A type whose name begins with an underscore is described where it is used, and the others among the components.
"""
