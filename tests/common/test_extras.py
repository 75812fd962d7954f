from common.extras import missing


def test_the_message_names_the_installer_of_the_service_and_pip() -> None:
    assert missing("propose", "OR-tools", "propose") == (
        "propose needs OR-tools: `install.sh --extras propose WHEEL`, or `pip install 'WHEEL[propose]'`"
    )
