from planner.report.charts import WIDTH, Bar, Cell, Pair, columns, heat_map, line, pairs
from tests.planner.builders import parsed


def sizes(svg: str, kind: str, side: str) -> list[float]:
    return [float(each.attrib[side]) for each in parsed(svg).findall(f".//rect[@class='{kind}']")]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in parsed(svg).findall(".//text")]


def test_columns_are_as_high_as_their_values() -> None:
    svg = columns([Bar("a", 4, ""), Bar("b", 1, ""), Bar("c", 0, "")], str, "wave")
    first, second, third = sizes(svg, "first", "height")
    assert abs(first - 4 * second) < 0.5
    assert third == 0


def test_few_columns_are_all_labelled_and_many_are_not() -> None:
    assert {"0", "1", "2"} <= set(texts(columns([Bar(str(n), n, "") for n in range(3)], str, "")))
    many = columns([Bar(f"wave {n}", n, "") for n in range(100)], str, "")
    assert sum(text.startswith("wave") for text in texts(many)) == 12


def test_pairs_are_as_long_as_their_values_and_stay_inside() -> None:
    svg = pairs([Pair("broker 1", 10, 5, ""), Pair("broker 2", 0, 10, "")], lambda value: f"{value:g}")
    assert sizes(svg, "first", "width")[0] == 2 * sizes(svg, "second", "width")[0]
    assert max(sizes(svg, "second", "width")) < WIDTH
    assert "10 · 5" in texts(svg)


def test_a_line_starts_at_0_and_ends_at_the_last_point() -> None:
    svg = line([(1, 10), (2, 40)], str, str)
    path = parsed(svg).findall("polyline")[0].attrib["points"].split()
    assert len(path) == 3
    assert path[-1].startswith(f"{WIDTH - 12}.0,")


def test_a_stronger_field_is_less_transparent() -> None:
    svg = heat_map(["broker 1"], ["0", "1"], [Cell(0, 0, 0.1, ""), Cell(0, 1, 1.0, "")], "wave")
    weak, strong = sizes(svg, "first", "fill-opacity")
    assert weak < strong == 1


def test_nothing_to_draw_is_an_empty_chart() -> None:
    for svg in (columns([], str, ""), pairs([], str), line([], str, str), heat_map([], [], [], "")):
        assert parsed(svg).tag == "svg"


def test_each_bar_has_a_tooltip() -> None:
    svg = columns([Bar("0", 1, "wave <0>")], str, "")
    assert [each.text for each in parsed(svg).iter("title")] == ["wave <0>"]
