"""Cruise Control's REST API, so that its clients run on reassignd unchanged (docs/cruise-control.md).

`routes` is the door of this room. `endpoints` has one file for each endpoint; all of them use the resources
of `server.api`. The room holds nothing while `cruisecontrol.api` is off.
"""
