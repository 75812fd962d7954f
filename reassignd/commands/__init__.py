"""The subcommands of `reassignd` that need more than a few lines.

`options`, `completion` and `output` are shared by them; the others have the name of their command.
"""
