"""Reading requests and writing answers.

Content: `documents` (JSON), `parameters` (of the query), `etags` and `prefer` (headers), `threads` (work that takes a
core). Origin: `hosts` (the name that was addressed), `origins` (of web pages), `proxies` (the client behind them).
"""
