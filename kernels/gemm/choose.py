"""The blocks for a GEMM: measured ones for its shape (tuned.py), else the fastest by a model (cost.py).

A variant offers blocks without regard to a shape (Offer). A candidate is an offer with a split-K and an order
of blocks. No torch.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from math import log2

import numpy as np

from kernels.device import Device
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.cost import Vector, class_of, facts_of, predict_us, rates_of, stacked
from kernels.gemm.hopper.blocks import lacks_specialized
from kernels.gemm.hopper.storage import own_splits
from kernels.gemm.numerics import Numerics
from kernels.gemm.tuned import Tuned, table
from kernels.gemm.variants import VARIANTS, product_refusal, refusal

Mnk = tuple[int, int, int]
Candidate = tuple[int, int, int]
"""(number of the offer, split-K, group)"""

_NEAR = 0.5
"""Doublings, at most, between each size of a shape and that of a shape nearby."""
_SPREAD = 1.02
"""Medians within this factor count as equal. A judgment, not a measurement."""
_AGREED = 1.05
"""A measured plan of a shape nearby wins within this factor of the model's best."""
_DOUBT = 1.1
"""Factor on the time of a class that nobody measured: else the most underestimated of many would win."""
_SHORT_K = 256
"""K up to which an order that writes D row by row is offered, too."""
_MOST_SHARING, _LEAST_STEPS, _LEAST_SHARING, _MOST_BALANCING = 16, 4, 16, 8
"""Most programs that share a block, fewest steps of each, fewest programs from which a quarter is offered;
most splits of K of persistent programs that have several items each."""


@lru_cache(maxsize=256)
def offers_of(numerics: Numerics, device: Device) -> tuple[Offer, ...]:
    able = (
        entry.offers(numerics, device)
        for variant, entry in VARIANTS.items()
        if (variant.is_simple or not lacks_specialized(device)) and not product_refusal(variant, numerics)
    )
    return tuple(chain.from_iterable(able))


@lru_cache(maxsize=256)
def numbers_of(numerics: Numerics, device: Device) -> dict[str, Vector]:
    """Facts and rates of all offers. Raises ValueError if there are no rates."""
    rates = rates_of(device)
    return stacked(
        facts_of(numerics, offer) | rates.of(offer.blocks.variant.value, class_of(numerics, offer))
        for offer in offers_of(numerics, device)
    )


def candidates_of(
    numerics: Numerics, mnk: Mnk, device: Device, variants: Collection[Variant]
) -> list[Candidate]:
    return [
        (number, *order)
        for number, offer in enumerate(offers_of(numerics, device))
        if offer.blocks.variant in variants
        for order in _orders(offer, mnk, device.sms)
    ]


def blocks_of(numerics: Numerics, device: Device, candidate: Candidate) -> Blocks:
    number, split, group = candidate
    return replace(offers_of(numerics, device)[number].blocks, split_k=split, group=group)


def _predicted(
    numerics: Numerics, mnk: Mnk, device: Device, variants: Collection[Variant]
) -> tuple[list[Candidate], Vector]:
    """The candidates of these variants, and microseconds of each with its passes, more for an unmeasured
    class. Raises ValueError if there are no rates, or no candidates.
    """
    candidates = candidates_of(numerics, mnk, device, variants)
    if not candidates:
        raise ValueError("no variant has candidates for it")
    number, split, group = np.array(candidates).T
    numbers = {name: each[number] for name, each in numbers_of(numerics, device).items()}
    us = predict_us(numbers | rates_of(device).shared, split, group, mnk, device)
    return candidates, us * np.where(numbers["count"] > 0, 1.0, _DOUBT)


def _orders(offer: Offer, mnk: Mnk, sms: int) -> list[tuple[int, int]]:
    """(split-K, group) of each candidate of an offer; none for a shape beyond it."""
    (m, n, k), blocks = mnk, offer.blocks
    rows = n if blocks.variant is Variant.DECODING and blocks.decoded == "a" else m
    count, steps = blocks.count(m, n), max(1, -(-k // blocks.block_k))
    low, high = offer.waves
    if not (offer.rows[0] < rows <= offer.rows[1] and low * sms < count <= high * sms):
        return []
    if offer.taller not in (None, m > n):
        return []
    # fixed splits: fewer than four programs an SM, and a few steps a split
    most = max(1, min(steps // _LEAST_STEPS, 2 * (2 * sms - 1) // count))
    splits = [split for split in offer.splits if split <= most or offer.own_splits > 1]
    if offer.shared:
        most = min(sms // count, steps // offer.own_splits // _LEAST_STEPS, _MOST_SHARING)
        sharing = (most // 4 if most >= _LEAST_SHARING else 0, most // 2, most)
        splits += [programs * offer.own_splits for programs in sharing if programs > 1]
    if offer.shared and blocks.persistent and count <= 2 * sms:
        splits += _balancing(count, sms, min(steps // _LEAST_STEPS, _MOST_BALANCING))
    if offer.own_splits > 1 and blocks.decoded == "ab":
        splits = [split for split in splits if own_splits(replace(blocks, split_k=split), k) > 1]
    groups = [*offer.groups]
    row = -(-n // blocks.block_n) if blocks.block_m > blocks.block_n else 1
    if k <= _SHORT_K and len(groups) > 1 and row not in groups:
        groups.append(row)
    # programs that share blocks go in one order
    return [(split, group) for split in splits for group in (groups if split == 1 else groups[:1])]


def _balancing(count: int, sms: int, most: int) -> Iterator[int]:
    """Each split-K of more items than SMs that leaves fewer SMs idle than all smaller ones."""
    busiest = 0.0
    for split in range(1, most + 1):
        items = count * split
        busy = items / (-(-items // sms) * sms)
        if busy > busiest:
            busiest = busy
            if items > sms and split > 1:
                yield split


def ranked(
    numerics: Numerics, mnk: Mnk, device: Device, variants: Collection[Variant]
) -> list[tuple[float, Blocks]]:
    """(microseconds, blocks) of all candidates of these variants, the fastest first.

    Raises ValueError if there are no rates, or no candidates.
    """
    candidates, us = _predicted(numerics, mnk, device, variants)
    order = np.argsort(us, kind="stable").tolist()
    return [(float(us[place]), blocks_of(numerics, device, candidates[place])) for place in order]


def tries(variant: Variant, numerics: Numerics, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """The blocks that a variant offers for a GEMM; none if it does not run it."""
    if not refusal(variant, numerics, mnk, device):
        candidates = candidates_of(numerics, mnk, device, [variant])
        yield from dict.fromkeys(blocks_of(numerics, device, each) for each in candidates)


@lru_cache(maxsize=4096)
def best_blocks(
    numerics: Numerics, mnk: Mnk, device: Device, variants: frozenset[Variant]
) -> tuple[Blocks, str]:
    """The fastest blocks, and a sentence on the choice.

    A measured plan wins at its own shape, and at a shape nearby if the model puts it near its best. A variant
    that was never measured runs only if no other can. Raises ValueError for a shape without a measurement if
    there are no rates, or no candidates.
    """
    tuned, unread = (), ""
    try:
        tuned = table(device.capability).get(numerics.family, ()) if device.capability else ()
    except ValueError as error:
        unread = f"; {error}"
    rows = _nearby([row for row in tuned if row.blocks.variant in variants], mnk)
    if rows and rows[0].mnk == mnk:
        return rows[0].blocks, f"{_measured(rows[0])}, for this shape"
    rates = rates_of(device)
    measured = [variant for variant in variants if variant.value in rates.variants] or variants
    candidates, us = _predicted(numerics, mnk, device, measured)
    best = us.min()
    if rows:
        good = [blocks_of(numerics, device, candidates[at]) for at in np.flatnonzero(us <= best * _AGREED)]
        for row in rows:
            if row.blocks in good:
                return row.blocks, f"{_measured(row)}, for {' × '.join(map(str, row.mnk))}"
    why = f"the fastest of {us.size} candidates by the cost model of {rates.gpu}: about {best:.3g} µs{unread}"
    return blocks_of(numerics, device, candidates[us.argmin()]), why


def _nearby(rows: Collection[Tuned], mnk: Mnk) -> list[Tuned]:
    """The rows of shapes nearby, the nearest first. Rows of one shape: the fastest first; within _SPREAD, a
    warp-specialized one first.
    """
    far = {
        row.mnk: max([abs(log2(size / other)) for size, other in zip(row.mnk, mnk, strict=True)])
        for row in rows
    }
    rows = [row for row in rows if far[row.mnk] <= _NEAR]
    best = {row.mnk: row.median_us for row in sorted(rows, key=lambda row: -row.median_us)}

    def order(row: Tuned) -> tuple[object, ...]:
        slower = row.median_us > best[row.mnk] * _SPREAD
        return far[row.mnk], row.mnk, slower, row.blocks.variant.is_simple, row.median_us

    return sorted(rows, key=order)


def _measured(row: Tuned) -> str:
    return f"the best blocks measured on {row.measurement.gpu}, {row.measurement.date}"
