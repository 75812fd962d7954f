"""Cruise Control's API: its routes and its users, by the settings."""

from collections.abc import Sequence

from starlette.routing import BaseRoute

from reassignd.config.errors import SettingError
from reassignd.config.jetty_users import read_jetty_users
from reassignd.config.settings import Settings
from reassignd.config.watched_file import WatchedFile
from server.api.access import Access
from server.api.routes import Api
from server.cruisecontrol.routes import CruiseControl, Options
from server.cruisecontrol.shared.access import CruiseControlAccess


def cruise_control_routes(settings: Settings, api: Api, access: Access) -> Sequence[BaseRoute]:
    """Return the routes. Raises SettingError for a file that cannot be used."""
    ui = settings.cruisecontrol_ui_directory
    if ui is not None and not (ui / "index.html").is_file():
        raise SettingError(f"cruisecontrol.ui.directory: there is no {ui / 'index.html'}")
    options = Options(reuse_ms=settings.cruisecontrol_proposal_reuse_ms, ui=ui)
    return CruiseControl(api, cruise_control_access(settings, access), options).routes()


def cruise_control_access(settings: Settings, access: Access) -> CruiseControlAccess:
    """Return who may use the API. Raises SettingError for a file that cannot be read."""
    users = settings.cruisecontrol_users_file
    if users is None:
        return CruiseControlAccess(access)
    return CruiseControlAccess(access, WatchedFile(users, read_jetty_users, "the users").current)
