"""The subcommands of `reassignd` that need more than a few lines.

The modules of this folder are shared by them: options, completion in shells, rates and text.
"""
