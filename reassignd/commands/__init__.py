"""The subcommands of `reassignd` that need more than a few lines, one file each."""
