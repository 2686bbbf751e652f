"""Decoding: planted codes are read at 100 %, noise at chance, no group is on both sides, scores are scikit-learn's."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lab import probes
from lab.errors import ArgumentError
from lab.probes.decoding import scored

CLASSES, PER = 5, 40
PAIRS = np.array(list(itertools.combinations(range(CLASSES), 2)))  # combinations of two parts, as a fuzzy-logic task's


def pairs(spread=0.05, heads=8, seed=0):
    """Codes that are the sum of their two parts' directions; which parts, 0 or 1; which pair."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(len(PAIRS)), PER)
    parts = np.zeros((len(which), CLASSES), dtype=int)
    parts[np.arange(len(which))[:, None], PAIRS[which]] = 1
    return parts @ np.eye(CLASSES, heads) + spread * rng.normal(size=(len(which), heads)), parts, which


def rules(spread=0.05, examples=600, seed=0):
    """Codes of one rule an example, which the others of its combination do not change."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(CLASSES, size=(examples, 3))
    return np.eye(CLASSES, 8)[rows[:, -1]] + spread * rng.normal(size=(examples, 8)), rows[:, -1], rows


def noise(seed, examples=600, heads=8):
    return np.random.default_rng(seed).normal(size=(examples, heads))


def test_planted_parts_are_read_on_unseen_pairs():
    codes, parts, which = pairs()
    found = probes.decode(codes, parts, which, held_out=0.3)
    assert (found.f1.value == 1).all() and (found.f1.low == 1).all() and (found.f1.high == 1).all()
    assert found.accuracy.value == 1 and (found.class_accuracy.value == 1).all()
    np.testing.assert_array_equal(found.predicted, parts[found.test])
    assert found.groups == (7, 3) and found.f1.shuffled.shape == (20, CLASSES)
    assert found.f1.shuffled.mean() < found.f1.chance.mean() < 1


def test_planted_rules_are_read_on_unseen_combinations():
    codes, rule, rows = rules()
    found = probes.decode(codes, np.array(list("ABCDE"))[rule], rows)
    assert found.accuracy.value == found.accuracy.low == 1 and found.classes.tolist() == list("ABCDE")
    assert (found.predicted == np.array(list("ABCDE"))[rule[found.test]]).all()
    assert found.accuracy.shuffled.mean() < 0.4


def test_noise_is_read_at_chance():
    """The interval starts above chance in 1 of 40 draws; in more than 4 of 30 with p = .001."""
    rule, sixty = rules()[1], np.arange(600) % 60
    missed = [probes.decode(noise(seed), rule, sixty, seed, shuffles=1).accuracy for seed in range(30)]
    assert sum(score.low > score.chance for score in missed) <= 4
    assert np.mean([score.value for score in missed]) == pytest.approx(1 / CLASSES, abs=0.02)


def test_a_printed_result_has_its_number():
    rng = np.random.default_rng(0)
    result = probes.decode(rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.integers(0, 12, 60), shuffles=2)
    assert f"accuracy={result.accuracy.value:.3g} [" in repr(result) and "class_accuracy=2 scores" in repr(result)


def test_shuffled_labels_give_chance():
    """Even where codes say everything. Then a shuffle has each of 5 clusters right or wrong as a whole, with .2 each:
    a standard deviation of .18, of .013 for the mean of 200, and a bound at three times that."""
    codes, rule, _ = rules()
    found = probes.decode(codes, rule, None, shuffles=200)
    share = np.bincount(rule[found.test]) / found.test.sum()
    assert found.accuracy.shuffled.mean() == pytest.approx(1 / CLASSES, abs=0.04)
    assert found.accuracy.chance == pytest.approx(share.max())
    np.testing.assert_allclose(found.f1.chance, 2 * share / (1 + share))
    np.testing.assert_allclose(found.class_accuracy.chance, 1 - share)


def test_labels_of_whole_groups_are_dealt_to_whole_groups():
    """Codes that tell pairs apart and nothing of their parts: examples dealt one by one would hide that a decoder can
    learn a wrong label for each training pair by heart, and is then as often right on unseen pairs as that."""
    _, parts, which = pairs()
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(len(PAIRS), 8))[which] + 0.01 * rng.normal(size=(len(which), 8))
    found = probes.decode(codes, parts, which, held_out=0.3, shuffles=40)
    assert found.f1.shuffled.std() > 0.1 and (found.f1.shuffled.max(0) > 0.3).any()
    by_example = probes.decode(codes, parts, None, held_out=0.3, shuffles=10)
    assert by_example.f1.shuffled.std() < found.f1.shuffled.std()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_scores_are_those_of_scikit_learn(several, balanced):
    codes, labels, groups = pairs(0.4) if several else rules(0.8)
    found = probes.decode(codes, labels, groups, balanced=balanced, held_out=0.3, shuffles=1)
    one = LogisticRegression(class_weight="balanced" if balanced else None, max_iter=2000)
    fitted = []
    for column in labels.T if several else [labels]:
        decoder = make_pipeline(StandardScaler(), one).fit(codes[found.train], column[found.train])
        fitted.append(decoder.predict(codes[found.test]))
    answers, truth = np.stack(fitted, axis=-1) if several else fitted[0], labels[found.test]
    np.testing.assert_array_equal(found.predicted, answers)
    assert 0.1 < found.accuracy.value < 1 and found.accuracy.value == pytest.approx(accuracy_score(truth, answers))
    np.testing.assert_allclose(found.f1.value, f1_score(truth, answers, average=None))
    for number in range(CLASSES):
        yes, said = (
            (part[:, number], part[:, number]) if several else (part == number, part == number)
            for part in (truth, answers)
        )
        assert found.class_accuracy.value[number] == pytest.approx(accuracy_score(yes[0], said[0]))
        assert found.count[number] == yes[0].sum()


@pytest.mark.parametrize("seed", range(10))
def test_no_group_is_on_both_sides_in_any_order_of_its_parts(seed):
    codes, rule, rows = rules()
    found = probes.decode(codes, rule, rows, seed=seed, shuffles=1, resamples=1)
    train, test = ({tuple(sorted(row)) for row in rows[side]} for side in (found.train, found.test))
    assert not train & test and (found.train ^ found.test).all()
    assert (len(train), len(test)) == found.groups
    assert set(rule[found.train]) == set(rule[found.test]) == set(range(CLASSES))
    again = probes.decode(codes, rule, np.random.default_rng(0).permuted(rows, axis=1), seed=seed, shuffles=1)
    np.testing.assert_array_equal(again.test, found.test)


def test_permuting_examples_permutes_answers():
    codes, rule, rows = rules(0.6)
    order = np.random.default_rng(1).permutation(len(codes))
    found, again = (probes.decode(codes[o], rule[o], rows[o], shuffles=1) for o in (np.arange(len(codes)), order))
    np.testing.assert_array_equal(again.test, found.test[order])
    answers = np.full(len(codes), -1)
    answers[found.test] = found.predicted
    np.testing.assert_array_equal(again.predicted, answers[order][again.test])
    assert again.accuracy.value == found.accuracy.value
    assert again.accuracy.low == found.accuracy.low  # groups are drawn, and they stay the same


def test_heads_may_have_any_unit():
    codes, rule, rows = rules(0.6)
    rescaled = codes * [1e-6, 1e5, -1, 3, 1, 1, 0.1, 20] + np.arange(8)
    found, again = (probes.decode(c, rule, rows, shuffles=3) for c in (codes, rescaled))
    np.testing.assert_array_equal(again.predicted, found.predicted)
    np.testing.assert_allclose(again.f1.shuffled, found.f1.shuffled, atol=0.02)  # the solver stops at 1e-4


def test_the_same_seed_gives_the_same_and_another_one_another_split():
    codes, rule, rows = rules(0.6)
    one, same, other = (probes.decode(codes, rule, rows, seed=s, shuffles=3) for s in (1, 1, 2))
    for name in ("accuracy", "class_accuracy", "f1"):
        for part in ("value", "low", "high", "chance", "shuffled"):
            np.testing.assert_array_equal(getattr(getattr(same, name), part), getattr(getattr(one, name), part))
    assert (other.test != one.test).any()


def test_intervals_cover_the_truth():
    """Answers right with probability .7 within 40 groups that differ: 95 % intervals cover .7 in 9 of 10 draws or more.

    Group by group the share varies (beta, standard deviation .15): intervals over examples would be too narrow.
    """
    rng, covered, narrow = np.random.default_rng(0), 0, 0
    for _ in range(100):
        share = rng.beta(0.7 * 8, 0.3 * 8, size=40)
        right = rng.random((40, 30)) < share[:, None]
        truth = np.ones((1200, 1), dtype=bool)
        answers, group = right.reshape(-1, 1), np.repeat(np.arange(40), 30)
        by_group = scored(answers, truth, group, [answers], 200, rng)[0]
        by_example = scored(answers, truth, np.arange(1200), [answers], 200, rng)[0]
        covered += by_group.low <= 0.7 <= by_group.high
        narrow += by_example.low <= 0.7 <= by_example.high
    assert covered >= 90 and narrow < 75


def test_one_test_group_has_no_interval():
    codes, parts, which = pairs()
    found = probes.decode(codes, parts[:, :1], which, held_out=0.4)
    assert np.isfinite(found.accuracy.low)
    some = np.isin(which, [0, 9])
    single = probes.decode(codes, parts[:, :1], which, train=~some, test=which == 0)
    assert single.accuracy.value == 1 and np.isnan(single.accuracy.low) and np.isnan(single.f1.high).all()


def test_masks_are_taken_as_given():
    codes, rule, rows = rules()
    group = np.sort(rows, axis=1) @ [25, 5, 1]
    train, test = group % 3 == 0, group % 3 == 1
    found = probes.decode(codes, rule, rows, train=train, test=test)
    np.testing.assert_array_equal(found.train, train)
    np.testing.assert_array_equal(found.test, test)
    rest = probes.decode(codes, rule, group, train=train)
    np.testing.assert_array_equal(rest.test, ~train)


def test_a_class_that_the_test_lacks_has_no_f1():
    codes, rule, _ = rules()
    train = np.arange(600) < 400
    test = ~train & (rule != 2)
    found = probes.decode(codes, rule, None, train=train, test=test)
    assert found.count[2] == 0 and np.isnan(found.f1.value[2]) and np.isnan(found.f1.low[2])
    assert (found.f1.value[[0, 1, 3, 4]] == 1).all()


CODES, RULE, ROWS = rules()
FIRST = np.arange(600) < 300


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"codes": CODES[0]}, "give numbers of shape"),
        ({"labels": RULE[1:]}, r"labels have shape \(599,\)"),
        ({"labels": np.stack([RULE, RULE], 1)}, "say by 0 and 1"),
        ({"groups": ROWS[1:]}, r"groups have shape \(599, 3\)"),
        ({"groups": np.zeros(600)}, "held_out=0.25 of 1 groups"),
        ({"held_out": 1.0}, "held_out=1.0"),
        ({"held_out": 0.9, "train": FIRST}, "held_out=0.9 beside train or test"),
        ({"groups": RULE}, "no split with 1 of 5 groups held out has class .* change held_out, merge classes, or give"),
        ({"labels": np.zeros(600)}, "all 600 labels are the same"),
        ({"train": FIRST}, "groups are in train and in test"),
        ({"train": FIRST * 1}, r"train is int64 of shape \(600,\); give bool \(600,\)"),
        ({"groups": None, "train": FIRST, "test": FIRST & False}, "test is bool .* some True"),
        ({"groups": None, "train": FIRST & (RULE != 3)}, "nothing can be learned on class 3"),
        ({"groups": None, "train": RULE == 3, "labels": (RULE == 3)[:, None]}, "nothing can be learned on class 0"),
        ({"shuffles": 0}, "shuffles=0"),
        ({"seed": 0.5}, "seed=0.5"),
    ],
)
def test_mistakes_are_named(change, says):
    with pytest.raises(ArgumentError, match=says):
        probes.decode(**{"codes": CODES, "labels": RULE, "groups": ROWS} | change)


def test_a_test_split_alone_is_taken():
    """What is not in it is trained on; it was once a random split instead."""
    test = np.isin(np.arange(600) % 20, (3, 4, 5, 6, 7))
    group, labels = np.arange(600) % 20, np.arange(600) // 20 % 3
    codes = np.eye(3)[labels] + np.random.default_rng(0).normal(size=(600, 3)) / 9
    found = probes.decode(codes, labels, group, test=test, shuffles=2, resamples=5)
    np.testing.assert_array_equal(found.test, test)
    np.testing.assert_array_equal(found.train, ~test)
    again = probes.decode(codes, labels, group, train=~test, shuffles=2, resamples=5)
    np.testing.assert_array_equal(found.predicted, again.predicted)


@pytest.mark.parametrize("name", ["labels", "groups"])
def test_nan_is_no_label_and_no_group(name):
    given = {"labels": RULE.astype(float), "groups": np.arange(600.0) // 6}
    given[name][[5, 9]] = np.nan
    with pytest.raises(ArgumentError, match=f"2 of 600 {name} are missing"):
        probes.decode(np.random.default_rng(0).normal(size=(600, 4)), **given, shuffles=1, resamples=2)
    words = given[name].astype(object)
    words[[5, 9]] = None
    with pytest.raises(ArgumentError, match=f"2 of 600 {name} are missing"):
        probes.decode(np.random.default_rng(0).normal(size=(600, 4)), **given | {name: words}, shuffles=1, resamples=2)


def test_complex_codes_are_refused():
    with pytest.raises(ArgumentError, match="complex128 .* give real numbers"):
        probes.decode(np.exp(1j * np.arange(1200.0)).reshape(600, 2), RULE, None)


def test_numbers_that_are_no_classes_are_named_in_part():
    rng = np.random.default_rng(0)
    with pytest.raises(ArgumentError, match=r"no split .* … \(50 in all\)") as error:
        probes.decode(rng.normal(size=(50, 4)), rng.normal(size=50), None)
    assert len(str(error.value)) < 400
