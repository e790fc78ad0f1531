from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roamcast.errors import FilterError
from roamcast.pubsub.filters import EVERYTHING, MAX_LEAVES, NOTHING, And, Compare, Filter, Or, Topic, attr, topic
from roamcast.pubsub.text import MAX_PARENTHESES, parse, parse_subscription
from tests.pubsub.strategies import odd_filters

a, b, c = attr("a") == 1, attr("b") == 2, attr("c") == 3


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        ('temperature > 30 and room in ("lab", "hall")', (attr("temperature") > 30) & attr("room").isin("lab", "hall")),
        ("topic news.sport", topic("news.sport")),
        ("price between 3 and 7", attr("price").between(3, 7)),
        ('name prefix "ab"', attr("name").startswith("ab")),
        ("exists battery", attr("battery").exists()),
        ("a = 1 or b = 2 and c = 3", a | (b & c)),
        ("a = 1 and b = 2 or c = 3", (a & b) | c),
        ("(a = 1 or b = 2) and c = 3", (a | b) & c),
        ("((a = 1))", a),
        ("a between 1 and 2 and b = 2", attr("a").between(1, 2) & b),
        ("true", EVERYTHING),
        ("false or a = 1", NOTHING | a),
        ("a = true and b != false", (attr("a") == True) & (attr("b") != False)),  # noqa: E712
        ("a<=-1.5e-3", attr("a") <= -0.0015),
        ("a >= +7", attr("a") >= 7),
        ("a < .5", attr("a") < 0.5),
        ("a < 1e999", attr("a") < float("inf")),
        ("a = 7.0", attr("a") == 7.0),
        ("a in ()", attr("a").isin()),
        ("a in (1, 'x', true)", attr("a").isin(1, "x", True)),
        ("'two words' = 'it\\'s'", attr("two words") == "it's"),
        ('a = "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\U0001F600"', attr("a") == '"\\/\b\f\n\r\té😀😀'),
        ('topic "and"', topic("and")),
        ("topic a-b.c_d", topic("a-b.c_d")),
        ("  a\n=\t1  ", a),
        ("a = 18446744073709551615", attr("a") == 2**64 - 1),
        ("a = -9223372036854775808", attr("a") == -(2**63)),
    ],
)
def test_a_text_gives_its_filter(text: str, filter: Filter) -> None:
    assert parse(text) == filter
    assert parse(text).fields() == filter.fields()


def test_a_whole_number_stays_whole() -> None:
    whole, real = parse("a = 7"), parse("a = 7.0")
    assert isinstance(whole, Compare) and type(whole.value) is int
    assert isinstance(real, Compare) and type(real.value) is float


@given(odd_filters)
def test_a_filters_text_parses_back_to_it(filter: Filter) -> None:
    assert parse(str(filter)) == filter


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a condition"),
        ("   ", 3, "found the end"),
        ("a", 1, "expected one of = != < <= > >= between in prefix, found the end"),
        ("a b", 2, 'in prefix, found "b"'),
        ("a >", 3, "expected a value, found the end"),
        ("a > lab", 4, 'expected a value (texts go in quotes), found "lab"'),
        ("a > 1 b < 2", 6, 'expected "and", "or" or the end, found "b"'),
        ("a > 1 and", 9, "expected a condition"),
        ("(a > 1", 6, 'expected "and", "or" or ")", found the end'),
        ("a > 1)", 5, 'expected "and", "or" or the end, found ")"'),
        ("a between 1 or 2", 12, 'expected "and" and the upper end'),
        ("a in 1", 5, 'expected "(" and values'),
        ("a in (1 2)", 8, 'expected "," or ")"'),
        ("a in (1,)", 8, "expected a value"),
        ("a in (,1)", 6, "expected a value"),
        ("a prefix 3", 9, "expected a text in quotes"),
        ("topic", 5, "expected the name of a topic"),
        ("topic in", 6, "expected the name of a topic"),
        ("exists 3", 7, "expected the name of an attribute"),
        ("not a = 1", 0, 'there is no "not"'),
        ("a = 1 and not b = 2", 10, 'there is no "not"'),
        ("a ~ 3", 2, "unexpected '~'"),
        ("a = 5x", 4, "expected a number"),
        ("a = 1.2.3", 4, "expected a number"),
        ("a = -", 4, "expected a number"),
        ("a = 'x", 4, "expected a closing '"),
        ('a = "x\\"', 4, 'expected a closing "'),
        ('a = "xy\\q"', 7, "no escape \\q"),
        ('a = "\\u12"', 5, "no escape \\u"),
        ('a = "\\U00110000"', 5, "no escape"),
        ("b = 2 and a = 18446744073709551616", 14, "64 bits"),
        ("a = " + "9" * 5000, 4, "64 bits"),
        ('b = 2 and a = "\\ud800"', 14, "surrogate"),
        ('b = 2 and a between 1 and "x"', 10, "of one kind"),
        ('"" = 1', 0, "needs a name"),
        ("(" * (MAX_PARENTHESES + 1), MAX_PARENTHESES, "open parentheses"),
        ("b = 2 and (" + " or ".join(["a = 1"] * (MAX_LEAVES + 1)) + ")", 11, "at most 256 conditions"),
    ],
)
def test_an_error_names_the_character_and_what_was_expected(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert message in caught.value.message
    assert caught.value.position == position
    assert caught.value.text == text
    assert str(caught.value) == f"{caught.value.message} at character {position + 1} of {text!r}"
    assert "\n" not in str(caught.value)


def test_the_depth_of_parentheses_is_limited_and_their_number_is_not() -> None:
    assert parse("(" * MAX_PARENTHESES + "a = 1" + ")" * MAX_PARENTHESES) == a
    assert parse(" and ".join(["(a = 1)"] * (MAX_PARENTHESES + 1))) == And([a] * (MAX_PARENTHESES + 1))


SCRAPS = ["a", "topic", "exists", "in", "between", "and", "or", "not", "prefix", "true", "(", ")", ",", "=", "<", "1"]
SCRAPS += ["-2.5", "'x'", '"', "\\", "1e5", "😀"]
scraps = st.sampled_from([*SCRAPS, " ", "\n"])


@given(st.one_of(st.text(max_size=20), st.lists(scraps, max_size=12).map(" ".join), st.lists(scraps).map("".join)))
@example("a in (")
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    try:
        filter = parse(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
        return
    assert parse(str(filter)) == filter


def test_a_filter_that_cannot_match_is_parsed_but_refused_as_a_subscription() -> None:
    text = "a > 5 and a < 3"
    assert parse(text) == (attr("a") > 5) & (attr("a") < 3)
    with pytest.raises(FilterError, match="no event can match"):
        parse_subscription(text)
    assert parse_subscription("a > 3 and a < 5") == (attr("a") > 3) & (attr("a") < 5)
    assert parse_subscription("topic a or a in ()") == Or([Topic("a"), attr("a").isin()])
