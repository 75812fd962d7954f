BEGIN TRANSACTION;
CREATE TABLE acls (
    kind TEXT NOT NULL, name TEXT NOT NULL, pattern TEXT NOT NULL, principal TEXT NOT NULL, host TEXT NOT NULL,
    operation TEXT NOT NULL, permission TEXT NOT NULL,
    PRIMARY KEY (kind, name, pattern, principal, host, operation, permission)
) WITHOUT ROWID;
INSERT INTO "acls" VALUES('transactional_id','pay','prefixed','User:CN=a,O=b','*','all','deny');
CREATE TABLE audit (
    id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, action TEXT NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, job INTEGER NOT NULL, detail TEXT NOT NULL
);
INSERT INTO "audit" VALUES(1,5,'pause','User:anna',NULL,0,'{}');
CREATE TABLE audit_indexed (id INTEGER PRIMARY KEY CHECK (id = 0), until INTEGER NOT NULL);
CREATE TABLE audit_topic_entries (
    topic TEXT, action TEXT, entry INTEGER, principal TEXT NOT NULL, client_id TEXT,
    PRIMARY KEY (topic, action, entry)
) WITHOUT ROWID;
CREATE TABLE brokers (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER NOT NULL, rack TEXT, epoch INTEGER NOT NULL
);
INSERT INTO "brokers" VALUES(2,'localhost',9093,NULL,4);
CREATE TABLE configs (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
INSERT INTO "configs" VALUES('broker','','a.b','1');
CREATE TABLE controller (id INTEGER PRIMARY KEY CHECK (id = 0), epoch INTEGER NOT NULL);
INSERT INTO "controller" VALUES(0,7);
CREATE TABLE finished (
    sequence INTEGER PRIMARY KEY, job INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, ending TEXT NOT NULL, taken_by INTEGER NOT NULL,
    UNIQUE (job, topic, partition)
);
INSERT INTO "finished" VALUES(1,3,'bar',0,'1','2,3','stopped',4);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, created_ms INTEGER NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, total INTEGER NOT NULL, priority INTEGER NOT NULL, paused INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL, undoes INTEGER NOT NULL, throttle INTEGER NOT NULL
);
INSERT INTO "jobs" VALUES(3,'plan',5,'User:anna',NULL,7,-2,1,9,1,4);
CREATE TABLE leases (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, ours TEXT NOT NULL, found TEXT,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
INSERT INTO "leases" VALUES('topic','bar','a.b','1',NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('format',4);
CREATE TABLE partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas TEXT NOT NULL, isr TEXT NOT NULL,
    leader INTEGER NOT NULL, leader_epoch INTEGER NOT NULL, partition_epoch INTEGER NOT NULL,
    adding TEXT NOT NULL, removing TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
INSERT INTO "partitions" VALUES('bar',0,'1,2','1',1,5,6,'2','3');
CREATE TABLE paused (id INTEGER PRIMARY KEY CHECK (id = 0), paused INTEGER NOT NULL);
INSERT INTO "paused" VALUES(0,1);
CREATE TABLE pending (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    target TEXT NOT NULL, job INTEGER NOT NULL, UNIQUE (topic, partition)
);
INSERT INTO "pending" VALUES(1,'bar',0,'2,3',3);
CREATE TABLE reassignments (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, job INTEGER NOT NULL, blocked TEXT NOT NULL,
    UNIQUE (topic, partition)
);
INSERT INTO "reassignments" VALUES(1,'bar',0,'1','',3,'no space');
CREATE TABLE scram_credentials (
    user TEXT NOT NULL, mechanism TEXT NOT NULL, salt TEXT NOT NULL, stored_key TEXT NOT NULL,
    server_key TEXT NOT NULL, iterations INTEGER NOT NULL, PRIMARY KEY (user, mechanism)
) WITHOUT ROWID;
INSERT INTO "scram_credentials" VALUES('anna','SCRAM-SHA-256','AHNhbHQ=','//////////////////////////////////////////8=','a2V5',4096);
CREATE TABLE submissions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, base TEXT NOT NULL, following TEXT NOT NULL,
    stage TEXT NOT NULL, turned_from TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT -1, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
INSERT INTO "submissions" VALUES('bar',0,'1','1,2','undoing','4',8);
CREATE TABLE topics (name TEXT PRIMARY KEY, id TEXT NOT NULL, deleting INTEGER NOT NULL);
INSERT INTO "topics" VALUES('bar','AAECAwQFBgcICQoLDA0ODw',1);
CREATE INDEX audit_by_principal ON audit (principal, action);
CREATE INDEX audit_by_client ON audit (client_id, action);
CREATE INDEX audit_by_both ON audit (principal, client_id, action);
CREATE INDEX audit_by_action ON audit (action);
CREATE INDEX audit_by_job ON audit (job) WHERE job > 0;
CREATE INDEX audit_by_topic_principal ON audit_topic_entries (topic, principal, action, entry);
CREATE INDEX audit_by_topic_client ON audit_topic_entries (topic, client_id, action, entry);
CREATE INDEX audit_by_topic_both
    ON audit_topic_entries (topic, principal, client_id, action, entry);
COMMIT;
PRAGMA user_version=0;
PRAGMA application_id=0;
