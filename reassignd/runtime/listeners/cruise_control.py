"""Cruise Control's API: its routes and its users, by the settings."""

from collections.abc import Sequence
from pathlib import Path

from starlette.routing import BaseRoute

from reassignd.config.errors import SettingError
from reassignd.config.jetty_users import read_jetty_users
from reassignd.config.setting_types import SocketPath
from reassignd.config.settings import EMBEDDED, Settings
from reassignd.config.watched_file import WatchedFile
from server.api.access import Access
from server.api.routes import Api
from server.cruisecontrol.routes import CruiseControl, Options
from server.cruisecontrol.shared.access import CruiseControlAccess
from server.cruisecontrol.shared.capacities import Capacities, CurrentCapacities, read_capacities


def cruise_control_routes(settings: Settings, api: Api, access: Access) -> Sequence[BaseRoute]:
    """Return the routes. Raises SettingError for a file that cannot be used."""
    options, users = cruise_control_options(settings), cruise_control_access(settings, access)
    return CruiseControl(api, users, options).routes()


def cruise_control_options(settings: Settings) -> Options:
    """Return the options. Raises SettingError for a file, a folder or a setting that cannot be used."""
    if settings.cruisecontrol_two_step_verification and not _tells_persons(settings):
        raise SettingError(
            "cruisecontrol.two.step.verification=on needs clients with names of their own: set"
            " cruisecontrol.users.file, http.access.file or http.tls.client.ca.file"
        )
    ui = settings.cruisecontrol_ui_directory
    if ui is not None and not (ui / "index.html").is_file():
        raise SettingError(f"cruisecontrol.ui.directory: there is no {ui / 'index.html'}")
    return Options(
        reuse_ms=settings.cruisecontrol_proposal_reuse_ms,
        ui=ui,
        capacities=_current_capacities(settings),
        detected=settings.cruisecontrol_anomaly_detection_goals,
        two_step=settings.cruisecontrol_two_step_verification,
    )


def _tells_persons(settings: Settings) -> bool:
    """Return whether clients can be several persons.

    Those with the only token are one. So are the user that runs a gateway and root, who need no token on
    loopback: with sudo, a person would approve his own requests.
    """
    if settings.cruisecontrol_users_file or settings.http_access_file or settings.http_tls_client_ca_file:
        return True
    on_socket = isinstance(settings.http_listener, SocketPath)
    return settings.http_token_file is None and (on_socket or settings.backend == EMBEDDED)


def cruise_control_access(settings: Settings, access: Access) -> CruiseControlAccess:
    """Return who may use the API. Raises SettingError for a file that cannot be read."""
    users = settings.cruisecontrol_users_file
    if users is None:
        return CruiseControlAccess(access)
    return CruiseControlAccess(access, WatchedFile(users, read_jetty_users, "the users").current)


def _current_capacities(settings: Settings) -> CurrentCapacities:
    file = settings.cruisecontrol_capacity_file
    return Capacities if file is None else WatchedFile(file, _capacities).current


def _capacities(path: Path) -> Capacities:
    try:
        return read_capacities(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SettingError(f"cruisecontrol.capacity.file: {path}: {error}") from error
