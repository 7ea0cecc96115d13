"""One step: a batch from the text, forward, backward, AdamW. On a GPU a step is one CUDA graph.

The graph reads starts of windows, the learning rate, and the number of the step within its chunk from memory
on the device, copied once a chunk. Losses and gradients' norms stay there until the end of the chunk, so no
step waits for the host.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from platform import python_version
from typing import Any

import numpy as np
import torch

from kernels.device import DeviceKind, Unsupported, current_device, interpreting
from kernels.measure.jobs import MAX_SEED
from kernels.measure.machine import machine_here
from kernels.measure.rows import Machine
from kernels.train.job import ON_CPU, TrainJob
from kernels.train.model import Decoder, Tap
from kernels.train.text import Text, check_length, held_out_starts, window_starts

CHUNK = 50
"""Steps between two copies of losses to the host."""
WARM_UP, LAST_RATE = 0.1, 0.1
"""Share of steps in which the learning rate rises; share of the rate at the end."""
BETAS, DECAY, CLIP = (0.9, 0.95), 0.1, 1.0
HELD_OUT_BATCHES = 24
_WARM_STEPS = 2
OBSERVED_SEED = MAX_SEED + 1
"""Seed of Trainer.observe: no run has it."""


def rate_at(step: int, steps: int, most: float) -> float:
    """The learning rate: a linear rise, then a cosine."""
    rising = max(1, round(WARM_UP * steps))
    if step < rising:
        return most * (step + 1) / rising
    share = (step - rising) / max(1, steps - rising)
    return most * (LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * share)) / 2)


@dataclass(frozen=True)
class Place:
    """A device, and the machine of its rows. emulate: by the reference's rules."""

    device: torch.device
    machine: Machine
    emulate: bool

    def trainer(self, job: TrainJob, text: Text) -> "Trainer":
        """Raises ValueError for a text that is too short, Unsupported for a model that needs a GPU."""
        if self.emulate and job.model != ON_CPU:
            raise Unsupported(
                f"there is no CUDA GPU here: only the model {ON_CPU} is trained, by the reference's rules, "
                f"got {job.model}"
            )
        check_length(text, job.size_data.sequences, job.size_data.length)
        return Trainer(job, text, self)


def this_place() -> Place:
    """The GPU in use, else the CPU. Raises Unsupported for a GPU without kernels."""
    if interpreting() or not torch.cuda.is_available():
        versions = {"python": python_version(), "torch": str(torch.__version__)}
        machine = Machine(name="CPU, by the reference's rules", capability=None, versions=versions)
        return Place(torch.device("cpu"), machine, True)
    device = current_device()
    assert device.kind is DeviceKind.GPU, device
    return Place(torch.device(device.place), machine_here(device), False)


class Trainer:
    def __init__(self, job: TrainJob, text: Text, place: Place) -> None:
        device = place.device
        self.job, self.text, self.place, self.device = job, text, place, device
        size = job.size_data
        self.model = Decoder(job, device, emulate=place.emulate)
        self.names = [name for name, _ in self.model.named_parameters()]
        self._parameters = list(self.model.parameters())
        self._rate = torch.zeros((), device=device)
        self._optimizer = self._new_optimizer()
        self._bytes, self._held_bytes = (
            torch.from_numpy(np.array(part)).to(device) for part in (text.train, text.held_out)
        )
        starts = held_out_starts(text, size.sequences, size.length, HELD_OUT_BATCHES)
        self._held_starts = torch.from_numpy(starts).to(device)
        self._starts = torch.zeros(CHUNK, size.sequences, dtype=torch.int64, device=device)
        self._rates = torch.zeros(CHUNK, device=device)
        self._losses = torch.zeros(CHUNK, device=device)
        self._norms = torch.zeros(CHUNK, len(self.names), device=device)
        self._at = torch.zeros(1, dtype=torch.int64, device=device)
        self._held_loss = torch.zeros((), device=device)
        self._graphs: dict[str, torch.cuda.CUDAGraph] = {}
        states = [self._optimizer.state[parameter] for parameter in self._parameters]
        self._moments = [state[name] for state in states for name in ("exp_avg", "exp_avg_sq", "step")]
        self._carried = [*(parameter.detach() for parameter in self._parameters), *self._moments]
        self.restart(job.seed)

    def _new_optimizer(self) -> torch.optim.AdamW:
        """AdamW after one step, so that its moments exist. Norms do not decay."""
        groups = [
            {"params": [p for p in self._parameters if p.ndim > 1], "weight_decay": DECAY},
            {"params": [p for p in self._parameters if p.ndim == 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(
            groups, lr=self._rate, betas=BETAS, fused=True, capturable=self.device.type == "cuda"
        )
        for parameter in self._parameters:
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return optimizer

    def restart(self, seed: int) -> None:
        """Go back to the first step, with the first weights of a seed."""
        for each in self._moments:
            each.zero_()
        self.model.start(seed)
        self._generator.manual_seed(seed)
        self.seed = seed

    @property
    def _generator(self) -> torch.Generator:
        """torch's generator, which draws the bits of stochastic rounding."""
        if self.device.type != "cuda":
            return torch.default_generator
        return torch.cuda.default_generators[self.device.index or 0]

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Restore the generator at the end."""
        state = self._generator.get_state()
        try:
            yield
        finally:
            self._generator.set_state(state)

    def state(self) -> list[torch.Tensor]:
        """Copies of all that a step changes, the generator's state last."""
        return [*(each.clone() for each in self._carried), self._generator.get_state()]

    def restore(self, state: Sequence[torch.Tensor]) -> None:
        """Take a state. Raises ValueError for another model's."""
        *tensors, generator = state
        if [each.shape for each in tensors] != [each.shape for each in self._carried]:
            raise ValueError("this state is of another model")
        for own, saved in zip(self._carried, tensors, strict=True):
            own.copy_(saved)
        self._generator.set_state(generator.cpu())

    def run(self, first: int, count: int, steps: int) -> tuple[list[float], list[list[float]]]:
        """Losses, and norms of all gradients, of at most CHUNK steps."""
        self.prepare(first, count, steps)
        for _ in range(count):
            self.step()
        return self._losses[:count].tolist(), self._norms[:count].tolist()

    def prepare(self, first: int, count: int, steps: int) -> None:
        """Copy starts of windows and rates to the device."""
        size = self.job.size_data
        starts = window_starts(self.text, self.seed, first, count, size.sequences, size.length)
        rates = [rate_at(step, steps, size.rate) for step in range(first, first + count)]
        self._starts[:count].copy_(torch.from_numpy(starts), non_blocking=True)
        self._rates[:count].copy_(torch.tensor(rates), non_blocking=True)
        self._at.zero_()

    def step(self) -> None:
        """Take the next prepared step."""
        self._replay("step", self._step)

    def held_out_loss(self, *, plain: bool = False) -> float:
        """Nats a byte on held-out text; plain: with every layer in bf16. No state changes."""
        self._at.zero_()
        self._held_loss.zero_()
        with self.beside():
            self.model.plain = plain
            for _ in range(len(self._held_starts)):
                if plain:
                    self._held_step()
                else:
                    self._replay("held out", self._held_step)
            self.model.plain = False
        return float(self._held_loss) / len(self._held_starts)

    def get_ready(self) -> None:
        """Capture a step on a GPU. No state changes."""
        if self.device.type == "cuda" and "step" not in self._graphs:
            self._graphs["step"] = self._captured(self._step)

    def observe(self, tap: Tap, first: int | None = None) -> None:
        """Run forward and backward op by op with a tap on the model. No state changes.

        The batch is that of step `first`, by default one of no step.
        """
        seed, number = (OBSERVED_SEED, 0) if first is None else (self.seed, first)
        size = self.job.size_data
        starts = window_starts(self.text, seed, number, 1, size.sequences, size.length)
        self._optimizer.zero_grad(set_to_none=True)
        self.model.tap = tap
        try:
            with self.beside():
                self.model.loss(
                    self._cut(self._bytes, torch.from_numpy(starts[0]).to(self.device))
                ).backward()
        finally:
            self.model.tap = None
            self._optimizer.zero_grad(set_to_none=True)

    def _cut(self, text: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        places = torch.arange(self.job.size_data.length + 1, device=self.device)
        return text[starts[:, None] + places].long()

    def _step(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        loss = self.model.loss(self._cut(self._bytes, self._starts.index_select(0, self._at)[0]))
        loss.backward()
        gradients = [parameter.grad for parameter in self._parameters]
        norms = torch.stack(torch._foreach_norm(gradients))
        self._losses.index_copy_(0, self._at, loss.detach().view(1))
        self._norms.index_copy_(0, self._at, norms[None])
        scale = (CLIP / (norms.norm() + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, scale)
        self._rate.copy_(self._rates.index_select(0, self._at)[0])
        self._optimizer.step()
        self._at.add_(1)

    def _held_step(self) -> None:
        # Gradients stay on, so that pieces run as compiled for a step.
        loss = self.model.loss(self._cut(self._held_bytes, self._held_starts.index_select(0, self._at)[0]))
        self._held_loss.add_(loss.detach())
        self._at.add_(1)

    def _replay(self, name: str, work: Callable[[], Any]) -> None:
        """Do work, on a GPU by a graph from the first call."""
        if self.device.type != "cuda":
            work()
            return
        if name not in self._graphs:
            self._graphs[name] = self._captured(work)
        self._graphs[name].replay()

    def _captured(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        """A graph of work. No state changes."""
        changed = [*self._carried, self._at, self._held_loss, self._rate]
        before = [each.clone() for each in changed]
        random = self._generator.get_state()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_STEPS):
                self._at.zero_()
                work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        self._at.zero_()
        # thread_local: other threads of a worker may allocate memory meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
        for own, saved in zip(changed, before, strict=True):
            own.copy_(saved)
        self._generator.set_state(random)
        torch.cuda.synchronize()
        return graph
