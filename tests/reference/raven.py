"""SRAVEN in plain Python: what its rules say, every grid they allow, and which readings of a problem there are."""

from itertools import permutations, product

STEPS = {"progression +1": 1, "progression +2": 2, "progression -1": -1, "progression -2": -2}


def obeys(rule, rows, values):
    """Whether three rows of three numbers obey the rule so named."""
    if any(not 0 <= x < values for row in rows for x in row):
        return False
    if rule == "constant":
        return all(x == y == z for x, y, z in rows)
    if rule in STEPS:
        return all((y - x - STEPS[rule]) % values == 0 == (z - y - STEPS[rule]) % values for x, y, z in rows)
    if rule == "addition":
        return all((x + y) % values == z for x, y, z in rows)
    if rule == "subtraction":
        return all((x - y) % values == z for x, y, z in rows)
    assert rule == "distribute three"
    return all(len(set(row)) == 3 and set(row) == set(rows[0]) for row in rows)


def last(rule, rows, values):
    """What the rule says stands in the last place of three rows, whose last number is not looked at; None: no fit."""
    found = [x for x in range(values) if obeys(rule, [*rows[:2], [*rows[2][:2], x]], values)]
    assert len(found) <= 1, "a rule that leaves the answer open"
    return found[0] if found else None


def last_as_printed(rule, rows, values):
    """As `last`, with the reference code's "distribute three": symbols may repeat, and the rarest one is the answer."""
    if rule != "distribute three":
        return last(rule, rows, values)
    symbols, (x, y) = sorted(rows[0]), rows[2][:2]
    if sorted(rows[1]) != symbols or x not in symbols or y not in symbols:
        return None
    return min(symbols, key=[x, y].count)


def all_grids(rule, values):
    """Every 3×3 grid of one feature that obeys the rule, as tuples of rows, from all rows there are."""
    rows = list(product(range(values), repeat=3))
    if rule != "distribute three":
        rows = [row for row in rows if obeys(rule, [row] * 3, values)]
    return [grid for grid in product(rows, repeat=3) if obeys(rule, grid, values)]


def readings(panels, values, rules, last=last):
    """The ninth panels of all sets of rules and permutations that fit the first eight, as lists (place → values).

    panels[row][column][place]. Lists all permutations of the features of each column, as the paper does, one column's
    aside: naming the features otherwise changes nothing.
    """
    places = range(len(panels[0][0]))
    for second, third in product(permutations(places), repeat=2):
        answers = []
        for i, j, k in zip(places, second, third, strict=True):
            rows = [[row[0][i], row[1][j], row[2][k]] for row in panels]
            answers.append((k, {last(rule, rows, values) for rule in rules} - {None}))
        if all(found for _, found in answers):
            yield [found for _, found in sorted(answers)]
