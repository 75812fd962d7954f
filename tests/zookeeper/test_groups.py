"""Consumer groups and transactions continue while their data and their internal topics are reassigned."""

from kafka import KafkaConsumer, KafkaProducer

from tests.zookeeper.site import Site

RECORDS = 60


def test_groups_and_transactions_survive_a_reassignment_of_all_partitions(site: Site) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    producer = KafkaProducer(bootstrap_servers=site.cluster.bootstrap, transactional_id="mover", acks="all")
    producer.init_transactions()
    consumer = KafkaConsumer(
        topic, bootstrap_servers=site.cluster.bootstrap, group_id="readers", auto_offset_reset="earliest",
        enable_auto_commit=False, isolation_level="read_committed",
    )  # fmt: skip
    read: list[int] = []
    for number in range(RECORDS):
        if number == RECORDS // 3:
            move_everything(site, topic)
        producer.begin_transaction()
        producer.send(topic, str(number).encode(), partition=number % 2)
        if number % 10 == 9:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
        read += poll(consumer)
    for _ in range(100):
        if len(read) >= RECORDS * 9 // 10:
            break
        read += poll(consumer)
    producer.close()
    consumer.close()
    assert sorted(read) == [number for number in range(RECORDS) if number % 10 != 9]
    site.wait_until_idle()


def move_everything(site: Site, topic: str) -> None:
    """Reassign the topic and both internal topics to brokers without their replicas."""
    for name in (topic, "__consumer_offsets", "__transaction_state"):
        for row in site.partitions(name):
            now = row["replica_nodes"]
            assert 1000 not in now
            site.reassign(
                name, {row["partition_index"]: [b for b in (4, 3, 2, 1) if b not in now][: len(now)]}
            )


def poll(consumer: KafkaConsumer) -> list[int]:
    records = consumer.poll(timeout_ms=500)
    consumer.commit()
    return [int(record.value) for batch in records.values() for record in batch]
