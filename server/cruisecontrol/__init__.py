"""Cruise Control's REST API, so that its clients run on reassignd unchanged (docs/cruise-control.md).

`routes` answers the requests. `endpoints` has one file for each endpoint; all of them use the resources
of `server.api`. Nothing is held while `cruisecontrol.api` is off.
"""
