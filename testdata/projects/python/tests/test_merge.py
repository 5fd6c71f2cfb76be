import pytest

from intervals import merge


def test_overlapping_intervals_become_one():
    assert merge([(5, 8), (1, 3), (2, 4)]) == [(1, 4), (5, 8)]


def test_an_interval_inside_another_disappears():
    assert merge([(1, 10), (2, 3)]) == [(1, 10)]


@pytest.mark.parametrize("intervals", [[], iter(())])
def test_nothing_merges_to_nothing(intervals):
    assert merge(intervals) == []


def test_an_interval_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="3..1 ends before it starts"):
        merge([(3, 1)])
