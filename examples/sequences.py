"""Audio-like sequences, made up: six kinds of sound (tones, chirps and trills) in strong noise, read by a 1-D network.

The sounds are synthetic, so this shows that the method fits sequences; it says nothing about speech or music.

    python examples/sequences.py            # five seeds, about three minutes on one core
    python examples/sequences.py --quick
"""

import math
from dataclasses import replace

import torch
from comparison import Pair, Task, main
from torch import Tensor, nn

LENGTH, TRAIN, TEST, NOISE = 256, 180, 1200, 1.5
KINDS = ("low tone", "high tone", "rising", "falling", "trill", "pulses")


def pitch(kind: int, t: Tensor) -> Tensor:
    """Cycles over the whole length, at each moment. t: (N, LENGTH) in 0…1."""
    flat = torch.ones_like(t)
    trill = 20 + 8 * torch.sign(torch.sin(2 * math.pi * 6 * t))
    return [12 * flat, 28 * flat, 12 + 16 * t, 28 - 16 * t, trill, 20 * flat][kind]


def sounds(kind: int, n: int, generator: torch.Generator) -> Tensor:
    """(n, 1, LENGTH): pitch, phase and loudness differ from sound to sound, and noise lies over all."""
    t = torch.linspace(0, 1, LENGTH).expand(n, LENGTH)
    detune = 1 + 0.15 * (2 * torch.rand(n, 1, generator=generator) - 1)
    phase = 2 * math.pi * (torch.cumsum(pitch(kind, t) * detune, 1) / LENGTH + torch.rand(n, 1, generator=generator))
    loud = 0.5 + torch.rand(n, 1, generator=generator)
    gate = (torch.sin(2 * math.pi * 8 * t) > 0).float() if kind == KINDS.index("pulses") else 1.0
    noise = NOISE * torch.randn(n, LENGTH, generator=generator)
    return (loud * gate * torch.sin(phase) + noise)[:, None]


def sample(n: int, generator: torch.Generator) -> Pair:
    x = torch.cat([sounds(kind, n // len(KINDS), generator) for kind in range(len(KINDS))])
    y = torch.arange(len(KINDS)).repeat_interleave(n // len(KINDS))
    order = torch.randperm(len(y), generator=generator)
    return x[order], y[order]


def draw(seed: int) -> tuple[Pair, Pair]:
    generator = torch.Generator().manual_seed(seed)
    return sample(TRAIN, generator), sample(TEST, generator)


def network() -> nn.Module:
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv1d(inputs, outputs, 9, padding=4), nn.BatchNorm1d(outputs), nn.ReLU(), nn.MaxPool1d(4)]

    blocks = [*block(1, 16), *block(16, 32), *block(32, 64)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, len(KINDS)))


SOUNDS = Task("sounds, 180 sequences", draw, network, num_classes=len(KINDS), epochs=40)
TASKS = [SOUNDS, replace(SOUNDS, name="the same, 40 % wrong labels", wrong=0.4)]

if __name__ == "__main__":
    main(TASKS)
