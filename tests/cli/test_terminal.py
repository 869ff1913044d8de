"""Tables, bars and encodings."""

import io

from mbt.cli.terminal import clip, line_width, make_bar, make_table, number, printable, write


def stream(encoding):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)


def written(text, encoding):
    out = stream(encoding)
    write(text, out)
    return out.buffer.getvalue().decode(encoding)


def test_unicode_where_it_can_be_encoded_and_ascii_elsewhere():
    assert written("└─ m²… é", "utf-8") == "└─ m²… é"
    assert written("├─│└─ m²… █░", "ascii") == "+-|`- m2~ #."
    assert written("└─ é", "cp1252") == "`- ?"


def test_nothing_steers_the_terminal():
    assert printable("a\x1b[2Jb\x9bc\td\ne\u202e") == "a\ufffd[2Jb\ufffdc\ufffdd\ne\ufffd"


def test_clip():
    assert clip("name", 4) == "name"
    assert clip("a long name", 6) == "a lon…"
    assert clip("two\nlines", 20) == "two lines"


def test_numbers():
    assert [number(x) for x in (0.0, -0.0, 1.0, 1 / 3, 12345.6, float("inf"))] == [
        "0",
        "0",
        "1",
        "0.3333",
        "1.235e+04",
        "",
    ]


def test_bars():
    assert [make_bar(x, 4) for x in (-1, 0, 0.5, 1, 7)] == ["░░░░", "░░░░", "██░░", "████", "████"]


def test_tables_are_aligned():
    assert make_table(("name", "x"), [("a", "1"), ("bcdef", "22")], left=(0,)) == [
        "  name    x",
        "  a       1",
        "  bcdef  22",
    ]


def test_tables_keep_to_the_width():
    lines = make_table(("name", "other", "x"), [("n" * 300, "o" * 80, "1"), ("short", "s", "2")], left=(0, 1))
    assert max(map(len, lines)) <= line_width()
    assert all(line.endswith(("x", "1", "2")) for line in lines)
