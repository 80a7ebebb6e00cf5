"""How likely a check of the gate is to pass, known before a run is made."""

from math import sqrt

from scipy.special import ndtr, ndtri


def power_of_non_inferiority(n: float, share_differing: float, margin: float, alpha: float, t: float = 0.0) -> float:
    """Probability of PASS for a candidate exactly as biased as its baseline, whose choices differ on some of n pairs.

    n: independent pairs (or `effective_n`); share_differing: of pairs with different choices, half each way, in [0, 1];
    t: bias of both runs. Normal approximation: D has the variance 4 q / n and S about 4 (1 - q - t^2) / n, q the share
    that differs, and the two are not correlated. Without a difference the bounds rest on Wilson's, not on D: q is then
    taken as the largest that Wilson's bound of 0 in n allows at this alpha.
    """
    _require(n > 0, f"n is {n}, expected above 0")
    _require(0 <= share_differing <= 1, f"share_differing is {share_differing}, expected between 0 and 1")
    _require(0 < margin < 1, f"margin is {margin}, expected between 0 and 1")
    _require(0 < alpha < 0.5, f"alpha is {alpha}, expected between 0 and 0.5")
    _require(-1 <= t <= 1, f"t is {t}, expected between -1 and 1")
    z = float(-ndtri(alpha / 2))
    if share_differing == 0:
        return float(2 * z * z / (n + z * z) < margin)
    spread_d = 2 * sqrt(share_differing / n)
    spread_s = 2 * sqrt(max(1 - share_differing - t * t, 0.0) / n) or 1e-12
    room_d, room_s = margin - z * spread_d, margin - z * spread_s

    def fails(sign: int) -> float:  # neither D (or -D) nor S (or -S) is shown to be below the margin
        return float(ndtr(-room_d / spread_d) * ndtr(-(room_s - 2 * sign * t) / spread_s))

    both = max(1 - 2 * float(ndtr(room_d / spread_d)), 0.0) * max(
        float(ndtr((-room_s - 2 * t) / spread_s) - ndtr((room_s - 2 * t) / spread_s)), 0.0
    )
    return 1 - fails(1) - fails(-1) + both


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
