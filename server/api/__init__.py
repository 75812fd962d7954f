"""The JSON API under `/v1`.

`routes.py` has the table of endpoints. `resources/` has one module for each resource: its models, then what
answers its requests, then its endpoints. `shared/` has what several of them use.
"""
