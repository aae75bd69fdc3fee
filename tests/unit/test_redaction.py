"""Redaction: secrets and personal data are replaced, harmless text stays, and no text makes it slow."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.errors import SettingsError
from loomlib.redaction import DEFAULT_RULES, KNOWN_FORMS, Redaction, Redactor, read_rules, redact
from loomlib.redaction.secrets import is_secret_name

# Made up or from the issuers' own documentation; keys are put together here so that no scanner takes them for real.
SECRETS = {
    "aws access key": "AKIA" + "IOSFODNN7EXAMPLE",
    "json web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "api key": "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE\n-----END RSA PRIVATE KEY-----",
    "secret": "3kJ9xQ2mZ7pL1vB8nR4tYw6s",
}
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfi" + "CYEXAMPLEKEY"
PERSONAL = {
    "email": ["ann.lee+x@example.org", "o'brien@mail.example.co.uk", "jürgen@müller.example"],
    "card": ["4111 1111 1111 1111", "4111111111111111", "5555-5555-5555-4444", "378282246310005", "30569309025904"],
    "iban": ["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "FR14 2004 1010 0505 0001 3M02 606"],
    "phone": ["+1 (415) 555-0132", "+44 20 7946 0958", "+4915112345678", "(415) 555-0132", "415-555-0132"],
    "ip": ["93.184.216.34", "10.1.2.3", "2001:db8:85a3::8a2e:370:7334", "fe80::1"],
    "national id": [
        "12345678Z",
        "X1234567L",
        "RSSMRA85T10A562S",
        "111.444.777-35",
        "11010519491231002X",
        "44051401359",
        "131052-308T",
        "85.07.30-033.28",
        "2 55 08 14 168 025 38",
    ],
}
HARMLESS = [
    "What is 2+12345678, and 17 * 23?",
    "version 1.2.3.4.5 at 12:30:45 on 127.0.0.1, std::vector<a::b>",
    "trace 4bf92f3577b34da6a3ce929d0e0e4736, session loom-0123456789abcdef0123456789abcdef",
    "1732243200123456789 ns, 1732243200123 ms, 3.14159265358979",
    "getWeatherForCityByNameAndDate in /usr/lib/python3/site-packages/loomlib/evaluation/answers.py",
    "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4",
    "4111 1111 1111 1112 and DE89370400440532013001 and 12345678A fail their checks",
    "123e4567-e89b-12d3-a456-426614174000",
    "the password is wrong; max_tokens: 10000000",
    "the secret key is under the mat; a secret key: see https://example.org/keys/v2.html; the secret is understanding",
    "the api key is in the vault, the client secret is base64-encoded-sha256, my token is version-2.0.1-beta.3",
    "the access token is /etc/keys/v1/key2.pem, and the secret key is kept-in-aws-secrets-manager-2024",
    "I use LastPass as my password manager and bcrypt as my password hash, use this as my password, too",
    "My password is 12 characters, was changed on 3 May, and is not secret2me; the pin is 13; order 536-90-4399",
    "/tmp/Zq8vT1xPq9Lm3Rk7Wc2Yd5Bn0a/agent.py and /var/folders/5k/8x7Qz1yD3kF9_n00000gn/T/tmpA1b2C3",
    "http://localhost:8000/users/@me and http://[::1]:8080/users/@me",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_redacted_and_named(name: str) -> None:
    redacted = redact(f"it is {SECRETS[name]} ok")
    assert redacted.text == f"it is [{name} 1] ok"
    assert redacted.found == (Redaction(name, 6, 6 + len(SECRETS[name])),)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in PERSONAL.items() for value in values])
def test_personal_data_is_redacted_and_named(name: str, value: str) -> None:
    assert redact(f"it is {value}, yes").text == f"it is [{name} 1], yes"
    assert redact(value).counts == {name: 1}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://u:hunter2@db/x", "postgres://u:[password 1]@db/x"),
        ("Authorization: Bearer abc.DEF-123456", "Authorization: Bearer [bearer token 1]"),
        ('{"password": "hunter2"}', '{"password": "[password 1]"}'),
        ("api_key='0123456789'", "api_key='[secret 1]'"),
        ("My password is Sw0rdfish!9, remember it", "My password is [password 1], remember it"),
        ("the passphrase was 'x9-abc-12'", "the passphrase was '[password 1]'"),
        ("My PIN is 4821.", "My PIN is [pin 1]."),
        ("My SSN is 536-90-4399.", "My SSN is [national id 1]."),
        ("social security number: 536904399", "social security number: [national id 1]"),
        ("X-Amz-Signature=0f0f0f&X-Amz-Date=1", "X-Amz-Signature=[aws signature 1]&X-Amz-Date=1"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfi", "aws_secret_access_key = [aws secret key 1]"),
        (f"my secret key is {SECRET_KEY}, ok", "my secret key is [aws secret key 1], ok"),
        (f"my AWS secret access key is {SECRET_KEY}.", "my AWS secret access key is [aws secret key 1]."),
        (f"secret key: {SECRET_KEY}", "secret key: [aws secret key 1]"),
        (f'"Secret Access Key": "{SECRET_KEY}"', '"Secret Access Key": "[aws secret key 1]"'),
        (
            f"the secret key for the build account is {SECRET_KEY}",
            "the secret key for the build account is [aws secret key 1]",
        ),
        (f"{SECRETS['aws access key']}:{SECRET_KEY}", "[aws access key 1]:[aws secret key 1]"),
        (f"{SECRETS['aws access key']}, {SECRET_KEY}", "[aws access key 1], [aws secret key 1]"),
        ("my api key is Zq8vT2kLp0Xw7YbN3mR5.", "my api key is [secret 1]."),
        ("the access token is Zq8vT2kLp0Xw", "the access token is [secret 1]"),
        ("my token is zq8vt2klp0xw7ybn3mr5, keep it", "my token is [secret 1], keep it"),
        ("the client secret for staging is 'Zq8v_T2kLp0Xw~7Yb'", "the client secret for staging is '[secret 1]'"),
        ("API key: 9f86d081884c7d65", "API key: [secret 1]"),
        ("I use hunter2 as my password", "I use [password 1] as my password"),
        ("we use swordfish as our wifi password, too", "we use [password 1] as our wifi password, too"),
        ('she set "correct horse" as her password for it', 'she set "[password 1]" as her password for it'),
        ("PGPASSWORD=swordfish1 psql", "PGPASSWORD=[password 1] psql"),
        ("dbpassword=hunter2hunter", "dbpassword=[password 1]"),
        ("MYSQL_PWD: 'correct horse'", "MYSQL_PWD: '[password 1]'"),
        ("postgresql+psycopg://app:Zq8/vT1xPq@db/app", "postgresql+psycopg://app:[password 1]@db/app"),
    ],
)
def test_the_value_of_a_named_secret_is_redacted_and_its_name_stays(text: str, kept: str) -> None:
    assert redact(text).text == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=" + "aB3" * 100, "password=[password 1]"),
        ("token=" + "aB3" * 2_000, "token=[secret 1]"),
        ("my api key is " + "aB3xQ9zL2m" * 500, "my api key is [secret 1]"),
        ("the password is " + "aB3x" * 20, "the password is [password 1]"),
        (f"the password is '{'correct horse ' * 20}'", "the password is '[password 1]'"),
        (f"I use {'aB3x' * 20} as my password", "I use [password 1] as my password"),
        ("psql --password " + "aB3" * 100, "psql --password [password 1]"),
        (f'"password": "{"correct horse " * 20}"', '"password": "[password 1]"'),
        ("sk-" + "aB3" * 100, "[api key 1]"),
    ],
)
def test_a_long_secret_is_redacted_to_its_end(text: str, kept: str) -> None:
    assert redact(text).text == kept


@pytest.mark.parametrize("sign", ["/", "_", "+", "-"])
def test_random_text_may_begin_with_any_sign_of_base64(sign: str) -> None:
    assert redact(f"value {sign}Zq8vT1xPq9Lm3Rk7Wc2Yd5Bn0a").text == "value [secret 1]"


def test_one_value_has_one_placeholder_however_it_is_written() -> None:
    text = "ann@example.org, bob@example.org, ANN@example.org; 4111 1111 1111 1111 = 4111111111111111"
    assert redact(text).text == "[email 1], [email 2], [email 1]; [card 1] = [card 1]"


def test_a_document_keeps_its_placeholders_through_all_its_texts() -> None:
    document = Redactor().document()
    assert document.text("I am ann@example.org") == "I am [email 1]"
    assert document.value({"to": ["bob@example.org", "ann@example.org"]}) == {"to": ["[email 2]", "[email 1]"]}
    assert document.counts == {"email": 3}


def test_placeholders_of_an_earlier_time_are_not_given_to_another_value() -> None:
    assert redact("[email 1] and ann@example.org").text == "[email 1] and [email 2]"


def test_a_nested_value_is_cleaned_to_its_last_key_and_number() -> None:
    value = {
        "clientSecret": "x",
        "nested": [{"ann@example.org": ("call +4915112345678", 4111111111111111, 12, 1.5, None, True)}],
        "next_page": "abc",
    }
    assert Redactor().value(value) == {
        "clientSecret": "[secret 1]",
        "nested": [{"[email 1]": ["call [phone 1]", "[card 1]", 12, 1.5, None, True]}],
        "next_page": "abc",
    }
    assert value["clientSecret"] == "x"
    assert Redactor().value([52998224725, "52998224725"]) == [52998224725, "[national id 1]"]  # may be nanoseconds
    assert list(Redactor().value({"b": 1, "a": 2})) == ["b", "a"]


def test_keys_with_the_same_placeholder_are_numbered_and_keep_their_values() -> None:
    value = {"ann@example.org": 1, "bob@example.org": 2, "n": 3, "eve@example.org": 4}
    kept = {"[email]": 1, "[email] 2": 2, "n": 3, "[email] 3": 4}
    assert Redactor(numbered=False).value(value) == kept
    assert list(Redactor(numbered=False).value(value)) == list(kept)
    assert Redactor(numbered=False).value(kept) == kept
    assert Redactor(placeholder="[redacted]").value(value)["[redacted] 2"] == 2
    assert Redactor().value({"ann@example.org": 1, "ANN@example.org": 2}) == {"[email 1]": 1, "[email 1] 2": 2}


@pytest.mark.parametrize(
    "text",
    [
        "The user's password is [password].",
        "The user's password is [password 1].",
        "my passwords are [password 2] and [password 3]",
        "password: [password]",
        "token: [api key 2], mail [email 1]",
    ],
)
def test_a_placeholder_is_no_secret_and_a_second_redaction_changes_nothing(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).found == ()


def test_a_secret_beside_a_placeholder_or_in_other_brackets_is_redacted() -> None:
    for text in (
        "my password is [password]hunter2-Blue",
        "my password is [hunter2-Blue]",
        "call [phone 4915112345678], +4915112345678",
    ):
        assert redact(text).found, text


def test_placeholders_of_an_earlier_time_count_in_every_text_of_a_document() -> None:
    document = Redactor().document()
    assert document.value(["I am [email 1]", {"token": "[secret 2]"}]) == ["I am [email 1]", {"token": "[secret 2]"}]
    assert document.text("ann@example.org, password=hush") == "[email 2], password=[password 1]"
    assert document.value({"token": "hush"}) == {"token": "[secret 3]"}


def test_under_the_name_of_a_secret_all_that_is_deeper_is_secret() -> None:
    value = {
        "credentials": {"user": "ann", "pins": [{"pin": "hunter2"}, {"pin": 4711}, {}], "active": True, "until": None},
        "api_key": {"value": "abc12345"},
        "password": 48151623,
        "secret": [10**5000, 1.5],
        "user": "ann",
    }
    assert Redactor().value(value) == {
        "credentials": {
            "user": "[secret 1]",
            "pins": [{"pin": "[secret 2]"}, {"pin": "[secret 3]"}, {}],
            "active": True,
            "until": None,
        },
        "api_key": {"value": "[secret 4]"},
        "password": "[secret 5]",
        "secret": ["[secret 6]", "[secret 7]"],
        "user": "ann",
    }


def test_a_time_to_the_first_token_and_a_price_per_token_are_no_secrets() -> None:
    value = {"gen_ai.server.time_to_first_token": 0.3, "cost_per_token": 0.001, "maxTokens": 100}
    assert Redactor().value(value) == value


def test_a_value_nested_a_hundred_thousand_deep_is_cleaned() -> None:
    value: list[object] = ["ann@example.org"]
    for _ in range(100_000):
        value = [value]
    inner = Redactor().value(value)
    while isinstance(inner[0], list):
        inner = inner[0]
    assert inner == ["[email 1]"]


def test_names_of_fields_that_hold_secrets_are_known() -> None:
    assert all(map(is_secret_name, ["password", "apiKey", "x-api-key", "AccessToken", "db_password", "token"]))
    numbered = ["PASSWORD2", "API_KEY_2", "DB_PASSWORD_OLD", "apiKeyProd"]
    assert all(map(is_secret_name, ["PGPASSWORD", "dbpassword", "MYSQL_PWD", "adminPassword", *numbered]))
    assert not any(map(is_secret_name, ["max_tokens", "tokenizer", "keyboard", "key", "secretary", "next_token_id"]))


def test_known_values_and_a_recogniser_from_elsewhere_are_used_too() -> None:
    def recognise(text: str) -> list[object]:
        at = text.find("Ann Lee")
        return [SimpleNamespace(entity_type="PERSON", start=at, end=at + 7), ("city", 0, 4), ("beyond", 5, 5000)]

    redactor = Redactor(DEFAULT_RULES, known=["open sesame"], finders=[recognise])
    assert redactor.redact("Oslo: Ann Lee says open sesame").text == "[city 1]: [person 1] says [secret 1]"


@pytest.mark.parametrize("separator", [" ", ", ", "\n", "; "])
def test_values_beside_each_other_are_all_found(separator: str) -> None:
    numbers = [*PERSONAL["card"], *PERSONAL["iban"], *PERSONAL["email"], *PERSONAL["phone"][1:]]
    text = redact(separator.join(numbers)).text
    assert text.replace("]", "[").split("[")[::2] == ["", *[separator] * (len(numbers) - 1), ""]


def test_overlapping_finds_are_one_and_nothing_of_either_is_left() -> None:
    redactor = Redactor(finders=[lambda text: [("first", 0, 8), ("second", 5, 12)]])
    assert redactor.redact("0123456789abcdef").text == "[first 1]cdef"


def test_rules_of_ones_own_come_from_a_file(tmp_path: Path) -> None:
    toml = tmp_path / "rules.toml"
    toml.write_text('[[rules]]\nname = "customer"\npattern = "cust-([0-9]+)"\npart = 1\nignore_case = true\n')
    assert (
        Redactor((*DEFAULT_RULES, *read_rules(toml))).redact("CUST-17 a@b.example").text
        == "CUST-[customer 1] [email 1]"
    )
    as_json = tmp_path / "rules.json"
    as_json.write_text(json.dumps({"rules": [{"name": "x", "pattern": "abc"}]}))
    assert redact("abc", read_rules(as_json)).text == "[x 1]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[rules]]\nname = "a"\npattern = "("', "not a regular expression"),
        ('[[rules]]\nname = "a"\npattern = "b{99999999999}"', "not a regular expression"),
        ('[[rules]]\nname = "a"\npattern = "b"\npart = 3', "0 groups"),
        ('[[rules]]\nname = "a"\npattern = "b"\npart = "x"', "no group 'x'"),
        ('[[rules]]\nname = "a[1]"\npattern = "b"', "without brackets"),
        ('[[rules]]\nname = "a"\npatern = "b"', "Unknown field of a rule: patern"),
        ('[[rules]]\nname = "a"', "a name and a pattern"),
        ("rules = 3", "no list of rules"),
        ("[[rules", "redaction rules file is not TOML"),
    ],
)
def test_a_file_with_a_mistake_names_it(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=words):
        read_rules(file)


_PARTS = [value for values in PERSONAL.values() for value in values] + [
    *SECRETS.values(),
    " ",
    "\n",
    "a",
    "[email 1]",
    "@",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(_PARTS))).map(" ".join))
def test_what_is_kept_has_nothing_more_to_redact_and_offsets_tell_what_was(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    rest, at = "", 0
    for redaction in once.found:
        assert at <= redaction.start < redaction.end <= len(text)
        rest, at = rest + text[at : redaction.start] + "\0", redaction.end
    rest += text[at:]
    assert len(rest.split("\0")) - text.count("\0") == len(once.found) + 1


@pytest.mark.parametrize("name", PERSONAL)
@settings(max_examples=20, deadline=None)
@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_value_is_redacted_whatever_surrounds_it(name: str, before: str, after: str) -> None:
    value = PERSONAL[name][0]
    assert value not in redact(f"{before} <<{value}>> {after}").text


_HOSTILE = [
    *("a", "0", "@", "a@", "+1", "-", "-----BEGIN PRIVATE KEY-----", "eyJ", "eyJaaaaaaaaa.", "://", "://a:", "41 "),
    *(
        "a1B2",
        "password=",
        "::",
        "1:",
        "192.168.",
        "secret key=",
        "DE89",
        " ",
        "é",
        "(415) ",
        "Bearer ",
        "password is ",
        "pin is 1",
    ),
    *("password is ", "pin is 1", "password is a1", "ssn ", "ssn 123"),
    *("secret key is ", "secret key: a1b2c3d4e5f6", "api key for a ", "token=", "1token=a1b2c3d4e5f6", "use a as my "),
    *("use “abcd", "password is “abcd", "password='abcd", "://a:/b", "://a:" + "/b" * 200, "a/"),
    *("use abcd as my password", "AKIA" + "IOSFODNN7EXAMPLE:", "token is a1/", "secret: " + "a1" * 5_000),
]


@pytest.mark.parametrize("piece", _HOSTILE)
def test_the_work_for_a_hostile_text_grows_as_its_length_does(piece: str) -> None:
    """A quadratic pattern would take hours for this; no time is asserted, the test ends."""
    redact(piece * (300_000 // len(piece)))


@pytest.mark.long
@pytest.mark.parametrize("piece", ["a", "a@", "://a:", "0"])
def test_ten_megabytes_are_read_to_their_end(piece: str) -> None:
    text = piece * (10_000_000 // len(piece)) + " ann@example.org"
    assert redact(text).text.endswith(" [email 1]")


def test_reports_strike_out_the_documented_forms_only() -> None:
    redactor = Redactor(KNOWN_FORMS, placeholder="[redacted]")
    for text in (
        f"secret key: {SECRET_KEY}",
        f"my secret key is {SECRET_KEY}",
        f"{SECRETS['aws access key']}:{SECRET_KEY}",
    ):
        assert SECRET_KEY not in redactor.redact(text).text
    assert redactor.redact(f"{SECRETS['api key']} of ann@example.org").text == "[redacted] of ann@example.org"
    assert redactor.value({"n": 4111111111111111}) == {"n": 4111111111111111}
