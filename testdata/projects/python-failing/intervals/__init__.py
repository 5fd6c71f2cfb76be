"""Merges closed intervals of numbers."""


def merge(intervals):
    """Return the union of the intervals as a sorted list of disjoint pairs.

    Intervals that share a point become one. An interval that ends before it
    starts is refused.
    """
    merged = []
    for start, end in sorted(intervals):
        if end < start:
            raise ValueError(f"the interval {start}..{end} ends before it starts")
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
