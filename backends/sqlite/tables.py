"""The tables of the database, which are readable with the sqlite3 command; `backends.record_forms` has their columns."""

from backends.record_forms import FORMS
from backends.sqlite.sql_table import Table
from controller.model.cluster import Record, Topic

_SUBMISSIONS = """
CREATE TABLE submissions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, base TEXT NOT NULL, following TEXT NOT NULL,
    stage TEXT NOT NULL, turned_from TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
"""

_SUBMISSION_EPOCH = "ALTER TABLE submissions ADD COLUMN epoch INTEGER NOT NULL DEFAULT -1;"

_ACCESS = """
CREATE TABLE acls (
    kind TEXT NOT NULL, name TEXT NOT NULL, pattern TEXT NOT NULL, principal TEXT NOT NULL, host TEXT NOT NULL,
    operation TEXT NOT NULL, permission TEXT NOT NULL,
    PRIMARY KEY (kind, name, pattern, principal, host, operation, permission)
) WITHOUT ROWID;
CREATE TABLE scram_credentials (
    user TEXT NOT NULL, mechanism TEXT NOT NULL, salt TEXT NOT NULL, stored_key TEXT NOT NULL,
    server_key TEXT NOT NULL, iterations INTEGER NOT NULL, PRIMARY KEY (user, mechanism)
) WITHOUT ROWID;
"""

SCHEMA = (
    _SUBMISSIONS
    + _SUBMISSION_EPOCH
    + _ACCESS
    + """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE controller (id INTEGER PRIMARY KEY CHECK (id = 0), epoch INTEGER NOT NULL);
CREATE TABLE brokers (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER NOT NULL, rack TEXT, epoch INTEGER NOT NULL
);
CREATE TABLE topics (name TEXT PRIMARY KEY, id TEXT NOT NULL, deleting INTEGER NOT NULL);
CREATE TABLE partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas TEXT NOT NULL, isr TEXT NOT NULL,
    leader INTEGER NOT NULL, leader_epoch INTEGER NOT NULL, partition_epoch INTEGER NOT NULL,
    adding TEXT NOT NULL, removing TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE reassignments (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, job INTEGER NOT NULL, blocked TEXT NOT NULL,
    UNIQUE (topic, partition)
);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, created_ms INTEGER NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, total INTEGER NOT NULL, priority INTEGER NOT NULL, paused INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL, undoes INTEGER NOT NULL, throttle INTEGER NOT NULL
);
CREATE TABLE finished (
    sequence INTEGER PRIMARY KEY, job INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, ending TEXT NOT NULL, taken_by INTEGER NOT NULL,
    UNIQUE (job, topic, partition)
);
CREATE TABLE pending (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    target TEXT NOT NULL, job INTEGER NOT NULL, UNIQUE (topic, partition)
);
CREATE TABLE paused (id INTEGER PRIMARY KEY CHECK (id = 0), paused INTEGER NOT NULL);
CREATE TABLE leases (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, ours TEXT NOT NULL, found TEXT,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
CREATE TABLE configs (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
"""
)

UPGRADES = {
    1: "ALTER TABLE reassignments ADD COLUMN blocked TEXT NOT NULL DEFAULT '';" + _SUBMISSIONS,
    2: _SUBMISSION_EPOCH,
    3: _ACCESS,
}
"""SQL by format version that converts the tables of that version to the next one."""


def _order(kind: type[Record]) -> str:
    """Return the columns that order the records of a kind. SQLite numbers the rows of topics without a column."""
    form = FORMS[kind]
    if form.ordered:
        return "rowid" if kind is Topic else "sequence"
    return ", ".join(form.columns[: form.keys])


TABLES: dict[type[Record], Table] = {kind: Table(form, _order(kind)) for kind, form in FORMS.items()}
"""Tables by kind of record, in the order of loading: topics before their partitions."""
