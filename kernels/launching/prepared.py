"""One kernel launch whose arguments lie ready in memory: a call writes addresses and asks CUDA to launch."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kernels.launching.cuda import Cuda
from kernels.launching.parameters import WORD_BYTES, Parameter, Unprepared

_MAP_ALIGNMENT = 64
_HALF_BITS = WORD_BYTES * 4
STREAM = 4
"""The word of CUlaunchConfig that holds the stream. Those before: the grid, the block, shared memory."""
_AT_ONCE, _STARTS_EARLY, _ATTRIBUTE_WORDS = 2, 6, 9
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, and the size of a
CUlaunchAttribute.
"""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a parameter's value comes from in each call: a tensor or an integer of the call, by its number.

    `offset` is added: bytes from the tensor's start.
    """

    root: int
    offset: int = 0


class Prepared:
    """A launch of one compiled kernel over one grid.

    Several threads may call it: a lock is held while the arguments are written and CUDA copies them.

    - pointers: the number of an argument, that of a tensor or integer, bytes on.
    - maps: of each tensor map its place in memory, the number of a tensor, bytes on, the address that it has.
    """

    def __init__(
        self,
        cuda: Cuda,
        kernel: Any,
        grid: tuple[int, ...],
        given: Sequence[Parameter],
        sources: Sequence[Source | None],
    ) -> None:
        """`sources` has None for a parameter that never changes.

        Raises Unprepared where the kernel declares other parameters than those `given`.
        """
        sizes, declared = tuple(each.bytes for each in given), cuda.parameter_bytes(kernel.function)
        if sizes != declared:
            raise Unprepared(f"the kernel declares parameters of {declared} bytes, expected {sizes}")
        if kernel.metadata.num_ctas != 1:
            raise Unprepared("the kernel is launched in clusters")
        self._kernel, self.function, self._cuda = kernel, kernel.function, cuda
        self._launch, self._replace, self._lock = cuda.launch, cuda.replace, Lock()
        self._lay_out(given, sources)
        self._configure(grid)

    def _lay_out(self, given: Sequence[Parameter], sources: Sequence[Source | None]) -> None:
        """Give each parameter its words, tensor maps first: those start at multiples of 64 bytes."""
        count = sum(each.words for each in given)
        self._memory = (ctypes.c_uint64 * (count + _MAP_ALIGNMENT // WORD_BYTES))()
        start = ctypes.addressof(self._memory)
        first = -start % _MAP_ALIGNMENT // WORD_BYTES
        self._words = memoryview(self._memory).cast("B").cast("Q")
        places = [0] * len(given)
        for index in sorted(range(len(given)), key=lambda index: given[index].tensor_map is None):
            places[index], first = first, first + given[index].words
        self._addresses = (ctypes.c_void_p * len(given))(*(start + WORD_BYTES * place for place in places))
        self._pointers: list[tuple[int, int, int]] = []
        self.pointers: list[tuple[int, int, int]] = []
        self.maps: list[list[int]] = []
        for index, (each, source, place) in enumerate(zip(given, sources, places, strict=True)):
            if each.tensor_map is not None:
                self._lay_map(each, source, start + WORD_BYTES * place)
            elif source is not None:
                self._pointers.append((place, source.root, source.offset))
                self.pointers.append((index, source.root, source.offset))
            else:
                fixed = each.value if each.tensor is None else each.tensor.data_ptr()
                self._words[place] = fixed % (1 << (WORD_BYTES * 8))

    def _lay_map(self, each: Parameter, source: Source | None, place: int) -> None:
        assert each.tensor is not None, "a tensor map lies over a tensor"
        assert each.tensor_map is not None, "a tensor map is laid"
        address = each.tensor.data_ptr()
        self._cuda.encode(place, each.tensor_map, address)
        if source is not None:
            self.maps.append([place, source.root, source.offset, address])

    def _configure(self, grid: tuple[int, ...]) -> None:
        """CUlaunchConfig: three sizes of the grid, three of a block, shared memory, stream, attributes.

        An attribute is a number, and that it is so: the kernel starts early; or its programs, which wait for
        each other, all run at once.
        """
        facts = self._kernel.metadata
        x, y, z = (*grid, 1, 1)[:3]
        threads = facts.num_warps * facts.target.warp_size
        halves = (x, y, z, threads, 1, 1, facts.shared, 0)
        words = [low | high << _HALF_BITS for low, high in zip(halves[::2], halves[1::2], strict=True)]
        asked = [_STARTS_EARLY] * facts.launch_pdl + [_AT_ONCE] * facts.launch_cooperative_grid
        given = [word for number in asked for word in (number, 1, *[0] * (_ATTRIBUTE_WORDS - 2))]
        self._attributes = (ctypes.c_uint64 * max(len(given), 1))(*given)
        attributes = (ctypes.addressof(self._attributes), len(asked)) if asked else (0, 0)
        self._configuration = (ctypes.c_uint64 * (len(words) + 3))(*words, 0, *attributes)
        self._config = memoryview(self._configuration).cast("B").cast("Q")
        self._given = ctypes.addressof(self._configuration), self.function, ctypes.addressof(self._addresses)

    def copied(self) -> tuple[Any, Any]:
        """The addresses of all arguments and the configuration, for one who writes them himself."""
        return type(self._addresses)(*self._addresses), type(self._configuration)(*self._configuration)

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the tensors and integers that it takes."""
        return (*(root for _, root, _ in self._pointers), *(root for _, root, _, _ in self.maps))

    def __call__(self, tensors: object, values: Sequence[int], stream: int) -> None:
        """Launch on a stream. `values` has the address of each tensor of the call, and its integers.

        Raises RuntimeError for an error that CUDA reports.
        """
        words = self._words
        with self._lock:
            for place, root, offset in self._pointers:
                words[place] = values[root] + offset
            for each in self.maps:
                place, root, offset, last = each
                address = values[root] + offset
                if address != last:
                    if status := self._replace(place, address):
                        self._cuda.settle(status, self._replace, place, address)
                    each[3] = address
            self._config[STREAM] = stream
            if status := self._launch(*self._given, None):
                self._cuda.settle(status, self._launch, *self._given, None)
