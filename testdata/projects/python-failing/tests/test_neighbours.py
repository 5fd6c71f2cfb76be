from intervals import merge


def test_neighbouring_whole_numbers_become_one():
    assert merge([(1, 2), (3, 4)]) == [(1, 4)], "neighbours are not joined yet"
