"""A labelled corpus of sentences with secrets and personal data, generated with Faker from a seed.

Every sentence is a `LabelledText`: its text and the spans of the values in it, by kind. The corpus has sentences
without any value, too: numbers, ids, versions, code and talk about passwords, which must stay.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from faker import Faker


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value of a text: characters `start` to `end` are of this kind."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and the values in it."""

    text: str
    values: tuple[Labelled, ...] = ()


class _Values:
    """Makes one value of each kind; the same seed gives the same values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fake = Faker("en_US")
        self.fake.seed_instance(seed)
        self.national = [
            Faker(name) for name in ("es_ES", "it_IT", "fr_FR", "pt_BR", "pl_PL", "fi_FI", "no_NO", "zh_CN")
        ]
        for fake in self.national:
            fake.seed_instance(seed)

    def of(self, alphabet: str, count: int) -> str:
        return "".join(self.random.choices(alphabet, k=count))

    def alphanumeric(self, count: int) -> str:
        return self.of(string.ascii_letters + string.digits, count)

    def base64url(self, value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    def email_in_words(self) -> str:
        user, domain = self.fake.email().split("@")
        at, dot = self.random.choice([(" at ", " dot "), (" (at) ", " (dot) "), ("[at]", "[dot]"), (" AT ", " DOT ")])
        return user.replace(".", dot) + at + domain.replace(".", dot)

    def phone(self) -> str:
        area, exchange, line = (
            self.random.randint(201, 989),
            self.random.randint(200, 999),
            self.random.randint(0, 9999),
        )
        national = self.random.choice(
            ["({}) {}-{:04}", "{}-{}-{:04}", "{}.{}.{:04}", "+1 {} {} {:04}", "+1-{}-{}-{:04}"]
        )
        foreign = self.random.choice(["+44 20 7{:03} {:04}", "+49 151 {:04}{:04}", "+33 6 {:02} 24 18 {:02}"])
        if self.random.random() < 0.6:
            return national.format(area, exchange, line)
        return foreign.format(self.random.randint(10, 99), self.random.randint(10, 99))

    def card(self) -> str:
        number = self.fake.credit_card_number(self.random.choice(["visa16", "mastercard", "amex", "discover"]))
        if len(number) == 16 and self.random.random() < 0.5:
            separator = self.random.choice([" ", "-"])
            return separator.join(number[at : at + 4] for at in range(0, 16, 4))
        return number

    def national_id(self) -> str:
        fake = self.random.choice(self.national)
        return fake.nif() if fake is self.national[0] else fake.ssn()

    def iban(self) -> str:
        number = Faker(self.random.choice(["de_DE", "en_GB", "fr_FR", "it_IT", "es_ES", "nl_NL"])).iban()
        if self.random.random() < 0.5:
            return " ".join(number[at : at + 4] for at in range(0, len(number), 4))
        return number

    def date_of_birth(self) -> str:
        born = self.fake.date_of_birth(minimum_age=18, maximum_age=90)
        return born.strftime(self.random.choice(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y"]))

    def password(self) -> str:
        return self.fake.password(
            length=self.random.randint(9, 16), special_chars=self.random.random() < 0.5, digits=True, upper_case=True
        )

    def plain_password(self) -> str:
        word, other = self.fake.word(), self.fake.word()
        return self.random.choice(
            [
                f"{word}{self.random.randint(10, 9999)}",
                f"{word}-{other}",
                self.fake.first_name().lower() + "!",
                word + other,
            ]
        )

    def json_web_token(self) -> str:
        claims = {"sub": self.fake.user_name(), "exp": self.random.randint(10**9, 2 * 10**9)}
        return f"{self.base64url({'alg': 'HS256'})}.{self.base64url(claims)}.{self.alphanumeric(43)}"

    def private_key(self) -> str:
        body = "\n".join(self.of(string.ascii_letters + string.digits + "+/", 64) for _ in range(3))
        kind = self.random.choice(["RSA ", "EC ", "OPENSSH ", ""])
        return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"

    def github(self) -> str:
        return self.random.choice(["ghp_", "gho_", "ghs_"]) + self.alphanumeric(36)

    def slack(self) -> str:
        return f"xoxb-{self.of(string.digits, 12)}-{self.of(string.digits, 12)}-{self.alphanumeric(24)}"

    def api_key(self) -> str:
        return self.random.choice(
            [
                "sk-proj-" + self.alphanumeric(48),
                "sk_live_" + self.alphanumeric(24),
                "AIza" + self.alphanumeric(35),
                "hf_" + self.alphanumeric(34),
                "glpat-" + self.alphanumeric(20),
            ]
        )


KINDS: dict[str, tuple[Callable[[_Values], str], tuple[str, ...]]] = {
    "email": (
        lambda v: v.fake.email(),
        ("Write to {} by Friday.", "My e-mail address is {}", "from:<{}> subject: invoice", '{{"customer": "{}"}}'),
    ),
    "email in words": (
        _Values.email_in_words,
        ("You can reach me: {}.", "My mail is {} if anything changes", "Send the ticket to {}, please."),
    ),
    "phone": (
        _Values.phone,
        ("Call me on {} after six.", "Phone: {}", "my number is {}, text me", "Contact {} or the front desk."),
    ),
    "card": (
        _Values.card,
        ("Charge it to {}.", "card number {} exp 09/29", "I paid with {} yesterday", "Visa: {}"),
    ),
    "iban": (_Values.iban, ("Transfer it to {}.", "IBAN {}", "our account is {}, thank you")),
    "us social security number": (
        lambda v: v.fake.ssn(),
        ("My SSN is {}.", "social security number: {}", "Her social security number is {}, born in Ohio."),
    ),
    "national id": (
        _Values.national_id,
        ("National ID: {}", "The patient's identity number is {}.", "id {} was checked"),
    ),
    "ipv4": (
        lambda v: v.fake.ipv4_public(),
        ("Login from {} was refused.", "The server {} answers.", "ssh admin@{} -p 22", "host={} port=5432"),
    ),
    "ipv6": (lambda v: v.fake.ipv6(), ("Login from {} was refused.", "AAAA {}", "client {} connected")),
    "mac address": (
        lambda v: v.fake.mac_address(),
        ("My laptop has {}.", "MAC {}", "device {} joined the network"),
    ),
    "date of birth": (
        _Values.date_of_birth,
        ("My date of birth is {}.", "Date of birth: {}", "DOB {}", "birth date {}", '"birth_date": "{}"'),
    ),
    "aws access key": (
        lambda v: v.random.choice(["AKIA", "ASIA"]) + v.of(string.ascii_uppercase + "234567", 16),
        ("Use {} for now.", "aws_access_key_id = {}", "AWS_ACCESS_KEY_ID={}", "the key {} was leaked"),
    ),
    "aws secret key": (
        lambda v: v.of(string.ascii_letters + string.digits + "+/", 40),
        ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", '"SecretAccessKey": "{}"', "secret key: {}"),
    ),
    "github token": (_Values.github, ("git clone with {}", "GITHUB_TOKEN={}", "my token is {}")),
    "slack token": (_Values.slack, ("The bot uses {}.", "SLACK_TOKEN={}", "token {} stopped working")),
    "api key": (_Values.api_key, ("Try {} for the API.", "OPENAI_API_KEY={}", "key: {}", "I pasted {} by mistake")),
    "json web token": (_Values.json_web_token, ("Authorization: Bearer {}", "the id token is {}", "jwt={}")),
    "private key": (_Values.private_key, ("{}", "This is my key:\n{}\nKeep it.", "key.pem contains {}")),
    "password in a setting": (
        _Values.password,
        ("password={}", "DB_PASSWORD: {}", '{{"password": "{}"}}', "--password {}", "pwd = '{}'"),
    ),
    "password in words": (
        _Values.plain_password,
        (
            "My password is {}.",
            "the wifi password is {}, ask if it fails",
            "Log in with the password {}",
            "our password was {} until May",
            'The password for the server is "{}"',
            "remember that my password is {}",
        ),
    ),
    "pin": (
        lambda v: v.of(string.digits, v.random.choice([4, 6])),
        ("My PIN is {}.", "pin code: {}", "The PIN for the card is {}", "use passcode {} at the door"),
    ),
    "password in an address": (
        lambda v: (
            v.password().replace("@", "x").replace("/", "y").replace(":", "z").replace("#", "q").replace("%", "w")
        ),
        (
            "postgres://app:{}@db.internal/orders",
            "Connect to https://ann:{}@example.org/feed",
            "amqp://u:{}@queue:5672",
        ),
    ),
}
"""How a value of each kind is made, and the sentences that hold one."""

_HARMLESS = (
    "The password is wrong, and the new one is required to have 12 characters.",
    "Passwords are stored as hashes; the password was changed yesterday.",
    "My password is not working since Monday, can you reset it?",
    "The password is too short.",
    "A password is a secret word. The password is expired.",
    "Is the password case sensitive? The password is case sensitive.",
    "The password for the server is in the vault.",
    "Your password will be reset after three attempts.",
    "The pin of the brooch is broken; PIN entry takes 4 seconds.",
    "Look at the dot at the end, at night, at home.",
    "We met at noon at dot com companies of the nineties.",
    "The meeting was on 12 March 2024 in room 4.",
    "max_tokens: 4096, token count 1532, tokens per second 41.2",
    "The secret to a good soup is time.",
    "Key: the blue line is the median, the red line the mean.",
    "std::vector<a::b> and fe::Foo::bar() compile.",
    "The token was refreshed; the key idea is caching.",
    "He was born in Lisbon and lives in Porto.",
)


def _harmless(values: _Values) -> str:
    fake, rng = values.fake, values.random
    number = values.of("123456789", 12)
    return rng.choice(
        [
            lambda: rng.choice(_HARMLESS),
            lambda: fake.sentence(nb_words=rng.randint(6, 18)),
            lambda: f"request {fake.uuid4()} took {rng.randint(10, 9999)} ms",
            lambda: f"trace {values.of('0123456789abcdef', 32)} span {values.of('0123456789abcdef', 16)}",
            lambda: f"order {number} of {fake.date()} costs ${rng.randint(1, 9999)}.{rng.randint(10, 99)}",
            lambda: f"version {rng.randint(0, 20)}.{rng.randint(0, 20)}.{rng.randint(0, 99)} at {fake.time()}",
            lambda: f"arn:aws:bedrock-agentcore:us-east-1:{number}:runtime/{fake.word()}-{values.alphanumeric(10)}",
            lambda: (
                f"start {rng.randint(16 * 10**17, 18 * 10**17)} ns, n = {rng.randint(3, 99)}, p90 {rng.random():.6f} s"
            ),
            lambda: f"commit {values.of('0123456789abcdef', 40)} by {fake.name()}",
            lambda: f"What is {rng.randint(100, 10**6)} * {rng.randint(100, 10**6)}?",
            lambda: f"ISBN {fake.isbn13()}, page {rng.randint(1, 900)}",
            lambda: f"{fake.file_path(depth=4)} and {fake.uri_path()}",
            lambda: (
                f"session loom-{values.of('0123456789abcdef', 32)}, model us.anthropic.claude-sonnet-4-5-20250929-v1:0"
            ),
            lambda: f"The listener on 127.0.0.1:{rng.randint(1024, 65000)} answered in {rng.randint(1, 99)} ms.",
        ]
    )()


def corpus(seed: int, *, each: int = 50, harmless: int = 1000) -> Iterator[LabelledText]:
    """Yield `each` sentences for every kind and `harmless` sentences without a value.

    Args:
        seed: The same seed yields the same corpus.
        each: Sentences per kind.
        harmless: Sentences without a value.
    """
    values = _Values(seed)
    Faker.seed(seed)
    for kind, (make, sentences) in KINDS.items():
        for _ in range(each):
            value, sentence = make(values), values.random.choice(sentences)
            before, after = (
                sentence.replace("{{", "{").replace("}}", "}").split("{}") if "{{" in sentence else sentence.split("{}")
            )
            start = len(before)
            yield LabelledText(before + value + after, (Labelled(kind, start, start + len(value)),))
    for _ in range(harmless):
        yield LabelledText(_harmless(values))
