from stowplan.cli.columns import aligned


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "10", "x"), ("bcd", "7", "yz")], left=(0, 2)) == ["a    10  x ", "bcd   7  yz"]
