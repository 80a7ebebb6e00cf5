"""Which answers belong together: clusters of one or two kinds, and what is kept of them.

A key of None says that the answer stands alone. Two kinds of clusters (trait word and occupation) are brought to the
smallest form: if each cluster of one kind lies within a cluster of the other, the wider kind alone says everything.
So a second kind in which every answer stands alone changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
Keys = ArrayLike | Sequence[object]


@dataclass(frozen=True)
class Levels:
    """How many clusters have more than j = 0, 1, 2 ... answers, hits and misses: all that a beta-binomial needs to know."""

    sizes: tuple[int, ...]
    hits: tuple[int, ...]
    misses: tuple[int, ...]
    n_if_alike: float  # n^2 / sum m_i^2, Kish's effective number if all answers of a cluster are alike

    @property
    def n_clusters(self) -> int:
        return self.sizes[0]

    @classmethod
    def of(cls, sizes: IntArray, hits: IntArray) -> "Levels":
        """Levels of at least one cluster with at least one answer."""
        steps = np.arange(sizes.max())[:, None]
        above = [tuple((values > steps).sum(axis=1).tolist()) for values in (sizes, hits, sizes - hits)]
        return cls(above[0], above[1], above[2], float(sizes.sum()) ** 2 / float(sizes @ sizes))


def cluster_index(keys: Keys | None, n: int) -> IntArray:
    """Clusters numbered from 0 in the order of their first answers; None, for all or one, stands alone."""
    if keys is None:
        return np.arange(n)
    listed = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)  # type: ignore[arg-type]
    if len(listed) != n:
        raise ValueError(f"found {len(listed)} cluster keys for {n} answers, expected one for each")
    seen: dict[object, int] = {}
    return np.array(
        [seen.setdefault(key if key is not None else ("alone", i), len(seen)) for i, key in enumerate(listed)], np.int64
    )


def ways_of(clusters: Keys | None, second: Keys | None, n: int) -> tuple[IntArray, ...]:
    """One index of clusters, or three for two kinds that cross: the first, the second, and the answers that share both."""
    first = cluster_index(clusters, n)
    if second is None or n == 0:
        return (first,)
    other = cluster_index(second, n)
    both = np.unique(np.column_stack([first, other]), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    n_both = both.max() + 1
    if n_both == other.max() + 1:
        return (first,)
    return (other,) if n_both == first.max() + 1 else (first, other, both)


def totals(values: IntArray, index: IntArray) -> tuple[IntArray, IntArray]:
    """Size and sum of values of each cluster."""
    sums = np.zeros(index.max() + 1 if len(index) else 0, dtype=np.int64)
    np.add.at(sums, index, values)
    return np.bincount(index).astype(np.int64), sums
