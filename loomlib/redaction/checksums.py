"""Checksums that confirm a number: Luhn, ISO 7064 mod 97-10, and those of national identity numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final


def luhn(digits: str) -> bool:
    """Check Luhn's sum (ISO/IEC 7812-1, annex B): every second digit from the right is doubled."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(letters: str) -> bool:
    """Check an IBAN (ISO 13616): first four characters moved to the end, letters as 10 to 35, remainder 1 modulo 97."""
    return int("".join(str(int(letter, 36)) for letter in letters[4:] + letters[:4])) % 97 == 1


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits multiplied by their weights."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _spain(text: str) -> bool:
    """Check a DNI or NIE: the letter is the number modulo 23."""
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


_ITALY_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)


def _italy(text: str) -> bool:
    """Check a codice fiscale (D.M. 23/12/1976): odd and even places by two tables, sum modulo 26 the last letter."""
    values = [int(c) if c.isdigit() else ord(c) - 65 for c in text[:15]]
    total = sum(_ITALY_ODD[value] if position % 2 == 0 else value for position, value in enumerate(values))
    return chr(65 + total % 26) == text[15]


def _france(text: str) -> bool:
    """Check a NIR: the key is 97 minus the number modulo 97 (Corsica's 2A and 2B count as 19 and 18)."""
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number) % 97 == int(text[13:])


def _brazil(text: str) -> bool:
    """Check a CPF: two check digits modulo 11; eleven equal digits are invalid."""
    if len(set(text)) == 1:
        return False
    for length in (9, 10):
        check = weighted(text, range(length + 1, 1, -1)) * 10 % 11 % 10
        if check != int(text[length]):
            return False
    return True


def _china(text: str) -> bool:
    """Check a number by GB 11643: a date of birth, and ISO 7064 mod 11-2."""
    if not _is_date(int(text[6:10]), int(text[10:12]), int(text[12:14])):
        return False
    weights = [2**power % 11 for power in range(17, 0, -1)]
    return "10X98765432"[weighted(text, weights) % 11] == text[17]


def _poland(text: str) -> bool:
    """Check a PESEL: a date of birth whose month encodes the century, and a check digit."""
    month = int(text[2:4])
    century = {0: 1900, 1: 2000, 2: 2100, 3: 2200, 4: 1800}[month // 20]
    has_birth_date = _is_date(century + int(text[:2]), month % 20, int(text[4:6]))
    return has_birth_date and (10 - weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(text[10])


def _finland(text: str) -> bool:
    """Check a henkilötunnus: a date of birth, and the number modulo 31 as a letter."""
    has_birth_date = _is_date(2000 + int(text[4:6]), int(text[2:4]), int(text[:2]))
    return has_birth_date and "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:6] + text[7:10]) % 31] == text[10]


def _belgium(text: str) -> bool:
    """Check a national number: a date of birth, and 97 minus the number modulo 97 (a 2 before it from 2000 on)."""
    if not (int(text[2:4]) <= 12 and int(text[4:6]) <= 31):
        return False
    return any(97 - int(century + text[:9]) % 97 == int(text[9:]) for century in ("", "2"))


def _norway(text: str) -> bool:
    """Check a fødselsnummer: a day and month, and two check digits modulo 11."""
    if not (1 <= int(text[:2]) <= 31 and 1 <= int(text[2:4]) <= 12):
        return False
    first = weighted(text, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1))
    second = weighted(text, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1))
    return first % 11 == 0 and second % 11 == 0


NATIONAL: Final[Mapping[str, tuple[str, tuple[str, ...], Callable[[str], bool]]]] = {
    "es": (r"(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-Z]", (), _spain),
    "it": (r"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", (), _italy),
    "fr": (r"[12] ?[0-9]{2} ?[0-9]{2} ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", (), _france),
    "br": (r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{11}", (), _brazil),
    "cn": (r"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9X]", (), _china),
    "pl": (r"[0-9]{11}", (), _poland),
    "fi": (r"[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-Y]", (), _finland),
    "be": (r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}", (), _belgium),
    "no": (r"[0-9]{6} ?[0-9]{5}", (), _norway),
}
"""Pattern and check by country. Numbers without a check, or with only one check digit and no other distinctive form,
are excluded; use a custom rule for them."""
