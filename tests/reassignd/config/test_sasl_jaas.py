import pytest

from reassignd.config.sasl_jaas import plain_users, unsecured_tokens
from reassignd.errors import CommandError
from server.security.unsecured_tokens import UnsecuredTokens

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BEARER = "OAuthBearerLoginModule required"


def test_users_are_the_options_of_the_login_module() -> None:
    text = f'{PLAIN} username="broker" password="x" user_anna="one" user_b="t=wo";'
    assert plain_users(text) == {"anna": "one", "b": "t=wo"}
    assert plain_users("") == {}


def test_the_options_of_the_validator_have_kafka_s_names() -> None:
    assert unsecured_tokens("") == unsecured_tokens(f"{BEARER};") == UnsecuredTokens()
    text = (
        f'{BEARER} unsecuredValidatorPrincipalClaimName="name" unsecuredValidatorScopeClaimName="scp"'
        ' unsecuredValidatorRequiredScope="a b" unsecuredValidatorAllowableClockSkewMs="3000";'
    )
    assert unsecured_tokens(text) == UnsecuredTokens("name", "scp", ("a", "b"), 3000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PlainLoginModule", "plain.sasl.jaas.config: expected MODULE required"),
        (f"{BEARER};", "plain.sasl.jaas.config: expected PlainLoginModule, not OAuthBearerLoginModule"),
    ],
)
def test_another_module_is_refused(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        plain_users(text)


def test_a_clock_skew_is_a_number() -> None:
    with pytest.raises(CommandError, match="AllowableClockSkewMs is not a number of milliseconds"):
        unsecured_tokens(f'{BEARER} unsecuredValidatorAllowableClockSkewMs="-1";')
