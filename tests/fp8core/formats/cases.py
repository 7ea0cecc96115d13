"""The formats that a test goes through, and those that gfloat has, too."""

import gfloat
import gfloat.formats
import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat

EVERY = list(FORMATS.values())
TABLED = [f for f in EVERY if f.bits <= 16]
FLOATS = [f for f in EVERY if isinstance(f, FloatFormat)]
WITH_ML_DTYPE = [f for f in EVERY if f.ml_dtype is not None]
ELEMENTS = [f for f in FLOATS if f.signed]


def p3109(format_: FloatFormat) -> gfloat.FormatInfo:
    domain = gfloat.Domain.Extended if format_.name.endswith("e") else gfloat.Domain.Finite
    return gfloat.formats.format_info_p3109(8, format_.mantissa_bits + 1, domain=domain)


GFLOAT = {
    "e4m3": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
    "e3m2": gfloat.formats.format_info_ocp_e3m2,
    "e2m3": gfloat.formats.format_info_ocp_e2m3,
    "e2m1": gfloat.formats.format_info_ocp_e2m1,
    "uniform4": gfloat.FormatInfo(
        "e1m2",
        k=4,
        precision=3,
        bias=1,
        is_signed=True,
        domain=gfloat.Domain.Finite,
        has_nz=True,
        num_high_nans=0,
        has_subnormals=True,
        is_twos_complement=False,
    ),
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "mxint8": gfloat.formats.format_info_ocp_int8,
    "e4m3fnuz": gfloat.formats.format_info_p3109(8, 4, domain=gfloat.Domain.Finite),
    "e5m2fnuz": gfloat.formats.format_info_p3109(8, 3, domain=gfloat.Domain.Finite),
} | {f.name: p3109(f) for f in FLOATS if f.name.startswith("binary8")}


def by_name(formats: list[FloatFormat]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("format_", formats, ids=lambda f: f.name)


def all_codes(format_: FloatFormat) -> np.ndarray:
    return np.arange(1 << format_.bits, dtype=format_.code_dtype)


def signs_of_numbers(values: np.ndarray) -> np.ndarray:
    return np.signbit(values[~np.isnan(values)])
