"""How far two annotators agree beyond chance: Cohen's kappa.

    agreement  p_o = share of items with the same judgement                    0 ... 1
    chance     p_e = sum over categories of the product of both annotators' shares
    kappa          = (p_o - p_e) / (1 - p_e)                                  -1 ... 1   0 is chance, 1 is full agreement

Cohen 1960. The interval is kappa ± z times the large-sample standard error of Fleiss, Cohen and Everitt 1969 (the
one for a kappa that need not be zero), cut at -1 and 1:

    n (1 - p_e)^2 v = sum_i p_ii [1 - (p_i. + p_.i)(1 - kappa)]^2 + (1 - kappa)^2 sum_{i != j} p_ij (p_.i + p_j.)^2
                      - [kappa - p_e (1 - kappa)]^2

Undefined is None, never 0. Kappa is undefined without items, and where both annotators put all items into one and the same
category: then chance alone agrees fully. The interval is undefined as well where v is zero, with full agreement or an
annotator who used one category: the formula would claim certainty from any number of items.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.metrics.statistics.posterior import FloatArray


class Agreement(NamedTuple):
    """Two annotators' judgements of n items; `rate` is the raw agreement, `interval` belongs to `kappa`."""

    n: int
    n_agreed: int
    kappa: float | None
    interval: Interval | None

    @property
    def rate(self) -> float | None:
        return self.n_agreed / self.n if self.n else None


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable], tail: float = 0.025) -> Agreement:
    """Agreement of two annotators on the same items in the same order; `tail` is left outside the interval on each side.

    Judgements are categories without an order. Raises ValueError where the numbers of judgements differ.
    """
    if len(first) != len(second):
        raise ValueError(f"found {len(first)} judgements of one annotator and {len(second)} of the other, expected as many")
    n, n_agreed = len(first), sum(one == other for one, other in zip(first, second, strict=True))
    shares = _shares(first, second)
    chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
    if n == 0 or len({*first, *second}) == 1:
        return Agreement(n, n_agreed, None, None)
    kappa = (n_agreed / n - chance) / (1 - chance)
    if n_agreed == n or 1 in (len({*first}), len({*second})):
        return Agreement(n, n_agreed, kappa, None)
    half = -float(ndtri(tail)) * sqrt(_variance(shares, kappa, chance) / n)
    return Agreement(n, n_agreed, kappa, Interval(max(-1.0, kappa - half), min(1.0, kappa + half)))


def _shares(first: Sequence[Hashable], second: Sequence[Hashable]) -> FloatArray:
    """Share of items by the first annotator's category (row) and the second's (column)."""
    index = {category: i for i, category in enumerate(dict.fromkeys((*first, *second)))}
    shares = np.zeros((len(index), len(index)))
    for (one, other), count in Counter(zip(first, second, strict=True)).items():
        shares[index[one], index[other]] = count / len(first)
    return shares


def _variance(shares: FloatArray, kappa: float, chance: float) -> float:
    """Variance of kappa for one item."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    agreed = np.diagonal(shares)
    disagreed = shares - np.diag(agreed)
    on_diagonal = float(agreed @ (1 - (rows + columns) * (1 - kappa)) ** 2)
    beside_it = float((disagreed * (columns[:, np.newaxis] + rows[np.newaxis, :]) ** 2).sum())
    spread = on_diagonal + (1 - kappa) ** 2 * beside_it - (kappa - chance * (1 - kappa)) ** 2
    return max(0.0, spread) / (1 - chance) ** 2
