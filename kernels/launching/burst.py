"""A tape of memory and launches alone, replayed in three sweeps: ask for memory, write all arguments, launch.

It takes no lock and calls no step for each launch: for small kernels that is half of the time on the host.
"""

import ctypes
from collections.abc import Sequence
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any

from kernels.launching.parameters import WORD_BYTES
from kernels.launching.prepared import STREAM, Prepared
from kernels.launching.tape import WORD, Allocate, Part, Supply, Tape

if TYPE_CHECKING:
    import torch


class Burst(Tape):
    """A tape that threads may share: a lock is held while arguments are written and CUDA copies them."""

    @staticmethod
    def takes(tape: Tape) -> bool:
        """True where a tape has no other steps, and each result is memory that was asked for, or given."""
        kinds = (Allocate, Part, Supply, Prepared)
        return all(isinstance(step, kinds) for step in tape.steps) and all(seen.same for seen in tape.results)

    def __init__(self, tape: Tape) -> None:
        """Lay out the arguments of all launches of a tape that `takes` is true for."""
        super().__init__(**vars(tape))
        self._lock, self._stream = Lock(), -1
        self._makes = [step.make for step in self.steps if isinstance(step, Allocate)]
        # Kernels of a stream run one after the other: they share what the stream has for itself.
        supplies = dict.fromkeys(step.supplier for step in self.steps if isinstance(step, Supply))
        self._supplies = list(supplies)
        where = self._bases()
        launches = [step for step in self.steps if isinstance(step, Prepared)]
        self._sources: list[tuple[int, int]] = []
        self._maps: list[list[int]] = []
        pointers = sum(len(each.pointers) for each in launches)
        self._memory = (ctypes.c_uint64 * max(pointers, 1))()
        self._pack = Struct(f"{pointers}Q").pack_into
        self._kept: list[Any] = []
        self._launches, self._configurations = [], []
        for each in launches:
            addresses, configuration = each.copied()
            for index, root, offset in each.pointers:
                addresses[index] = ctypes.addressof(self._memory) + WORD_BYTES * len(self._sources)
                base, start = where[root]
                self._sources.append((base, start + offset))
            for place, root, offset, last in each.maps:
                base, start = where[root]
                self._maps.append([place, base, start + offset, last])
            self._kept += [addresses, configuration]
            self._configurations.append(memoryview(configuration).cast("B").cast("Q"))
            self._launches.append(
                (ctypes.addressof(configuration), each.function, ctypes.addressof(addresses), None)
            )
        bases = [where[seen.root][0] for seen in self.results]
        # Among the tensors alone: integers lie between what is given and what is made.
        self._results = [base if base < self.tensors else base - self.integers for base in bases]

    def _bases(self) -> dict[int, tuple[int, int]]:
        """Where the memory of each number is: the place of an address among those of a call, and bytes on."""
        count = self.tensors + self.integers
        where = {root: (root, 0) for root in range(count)}
        made, supplied = count, count + len(self._makes)
        for step in self.steps:
            if isinstance(step, Part):
                base, start = where[step.root]
                where[len(where)] = base, start + step.offset
            elif isinstance(step, Allocate):
                where[len(where)] = made, 0
                made += 1
            elif isinstance(step, Supply):
                where[len(where)] = supplied + self._supplies.index(step.supplier), 0
        return where

    def __call__(self, given: "Sequence[torch.Tensor]", integers: Sequence[int] = ()) -> Any:
        """What a call gives for its tensors and integers, in the order in which they were recorded."""
        cuda, device = self.cuda, self.device
        if cuda.device() != device:
            import torch

            with torch.cuda.device(device):
                return self(given, integers)
        stream = cuda.stream(device)
        tensors = [*given, *[make() for make in self._makes]]
        if integers or self._supplies:
            count, supplied = len(given), [supply(device, stream) for supply in self._supplies]
            addresses = [tensor.data_ptr() for tensor in (*tensors, *supplied)]
            addresses[count:count] = [integer % WORD for integer in integers]
        else:
            addresses = [tensor.data_ptr() for tensor in tensors]
        launch = cuda.launch
        with self._lock:
            self._pack(self._memory, 0, *[addresses[base] + offset for base, offset in self._sources])
            for each in self._maps:
                place, base, offset, last = each
                address = addresses[base] + offset
                if address != last:
                    if status := cuda.replace(place, address):
                        cuda.settle(status, cuda.replace, place, address)
                    each[3] = address
            if stream != self._stream:
                for words in self._configurations:
                    words[STREAM] = stream
                self._stream = stream
            for one in self._launches:
                if status := launch(*one):
                    cuda.settle(status, launch, *one)
        return self.finish([tensors[place] for place in self._results])
