"""Metrics of ZooKeeper mode."""

from server.metrics.metric import Metric, one_label

ZOOKEEPER_METRICS = (
    Metric(
        "reassignd_zookeeper_refused_documents",
        "counter",
        ("znode",),
        lambda r: one_label(r.sources.znodes.documents),
        "Znodes that were rejected because of their content or the time of their creation, "
        "by kind. Each is logged.",
    ),
    Metric(
        "reassignd_zookeeper_refused_rows",
        "counter",
        ("znode",),
        lambda r: one_label(r.sources.znodes.rows),
        "Rejected rows of plans by znode, by kind of znode.",
    ),
    Metric(
        "reassignd_zookeeper_terms",
        "counter",
        ("event",),
        lambda r: one_label(r.sources.znodes.terms),
        "Elections of this process as controller (`won`), and terms that ended without a shutdown (`lost`).",
    ),
)
