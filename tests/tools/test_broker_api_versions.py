from tools.broker_api_versions import _schema_names, names, recorded


def test_each_recorded_api_has_a_name_and_versions() -> None:
    known = names()
    assert all(table.keys() <= known.keys() for table in recorded().values())
    assert all(low <= high for table in recorded().values() for low, high in table.values())
    assert known[45] == "AlterPartitionReassignments"


def test_names_come_from_the_schemas() -> None:
    found = _schema_names()
    assert found[3] == "Metadata"
    assert {key: name for key, name in names().items() if key in found}.items() <= found.items()
