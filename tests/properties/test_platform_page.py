"""The list of the platform's properties, its tests and its page of the documentation agree."""

from __future__ import annotations

from platform_properties import PAGE, PROPERTIES, page, text_of


def test_each_of_the_27_properties_has_a_test_or_a_reason() -> None:
    assert [item.number for item in PROPERTIES] == list(range(1, 28))
    for item in PROPERTIES:
        assert bool(item.test) != bool(item.reason), item.name


def test_each_test_that_the_list_names_exists() -> None:
    for item in PROPERTIES:
        for file, name in item.tests():
            assert text_of(file, name), (item.number, name)


def test_the_page_is_what_the_list_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python tests/properties/platform_properties.py"
