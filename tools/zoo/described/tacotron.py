"""Tacotron, the first of its name: convolution banks, highway layers and recurrent cells that run step by step."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

# An average LJSpeech clip: 100 characters, 6.6 s in frames of 12.5 ms, five frames a decoder step.
CHARACTERS, STEPS, FRAMES_A_STEP = 100, 106, 5
SYMBOLS, MELS, SPECTRUM = 66, 80, 1025
TACOTRON_RECIPE = Recipe("ljspeech", 32, 32, "adam", "keithito/tacotron hparams.py (32 per step)")


class Cell(nn.Module):
    """A gated recurrent unit of single operations, as a loop outside cuDNN runs it."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.gates, self.candidate = nn.Linear(inputs + width, 2 * width), nn.Linear(inputs + width, width)

    def forward(self, data: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        reset, update = torch.sigmoid(self.gates(torch.cat((data, state), 1))).chunk(2, 1)
        proposed = torch.tanh(self.candidate(torch.cat((data, reset * state), 1)))
        return update * state + (1 - update) * proposed


def _unrolled(cell: Cell, data: torch.Tensor) -> list[torch.Tensor]:
    state = data.new_zeros(data.shape[0], cell.width)
    states = []
    for each in data.unbind(1):
        state = cell(each, state)
        states.append(state)
    return states


class ConvolutionBank(nn.Module):
    """CBHG: kernels of 1 to ``largest``, two projections, four highway layers, a recurrent layer both ways."""

    def __init__(self, inputs: int, largest: int, projections: tuple[int, int]) -> None:
        super().__init__()
        self.bank = nn.ModuleList(_conv(inputs, 128, kernel) for kernel in range(1, largest + 1))
        self.first, self.second = _conv(largest * 128, projections[0], 3), _conv(*projections, 3)
        self.widen = nn.Linear(inputs, 128) if inputs != 128 else nn.Identity()
        self.highways = nn.ModuleList(nn.ModuleList(nn.Linear(128, 128) for _ in range(2)) for _ in range(4))
        self.onward, self.back = Cell(128, 128), Cell(128, 128)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        length = data.shape[1]
        channels = data.transpose(1, 2)
        banked = torch.cat([F.relu(conv(channels))[..., :length] for conv in self.bank], 1)
        pooled = F.max_pool1d(F.pad(banked, (0, 1)), 2, 1)
        hidden = self.widen(self.second(F.relu(self.first(pooled))).transpose(1, 2) + data)
        for layer, gate in self.highways:  # type: ignore[misc]
            share = torch.sigmoid(gate(hidden))
            hidden = F.relu(layer(hidden)) * share + hidden * (1 - share)
        there = torch.stack(_unrolled(self.onward, hidden), 1)
        return torch.cat((there, torch.stack(_unrolled(self.back, hidden.flip(1)), 1).flip(1)), 2)


def _conv(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2), nn.BatchNorm1d(outputs))


def _prenet(inputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.5)
    )


class Tacotron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, 256)
        self.prenet, self.encoder = _prenet(256), ConvolutionBank(128, 16, (128, 128))
        self.frame_prenet, self.attention_cell = _prenet(MELS), Cell(128 + 256, 256)
        self.query, self.memory = nn.Linear(256, 256, bias=False), nn.Linear(256, 256, bias=False)
        self.score, self.join = nn.Linear(256, 1, bias=False), nn.Linear(512, 256)
        self.cells = nn.ModuleList(Cell(256, 256) for _ in range(2))
        self.frames = nn.Linear(256, MELS * FRAMES_A_STEP)
        self.postnet, self.spectrum = ConvolutionBank(MELS, 8, (256, MELS)), nn.Linear(256, SPECTRUM)

    def forward(self, text: torch.Tensor, mels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        encoded = self.encoder(self.prenet(self.embedding(text)))
        memory = self.memory(encoded)
        batch = encoded.shape[0]
        attending, *states = (encoded.new_zeros(batch, 256) for _ in range(3))
        context = encoded.new_zeros(batch, 256)
        outputs = []
        for frame in self.frame_prenet(mels[:, ::FRAMES_A_STEP]).unbind(1):
            attending = self.attention_cell(torch.cat((frame, context), 1), attending)
            scores = self.score(torch.tanh(memory + self.query(attending).unsqueeze(1))).squeeze(-1)
            context = torch.bmm(F.softmax(scores, 1).unsqueeze(1), encoded).squeeze(1)
            hidden = self.join(torch.cat((attending, context), 1))
            for index, cell in enumerate(self.cells):
                states[index] = cell(hidden, states[index])
                hidden = hidden + states[index]
            outputs.append(self.frames(hidden))
        spoken = torch.stack(outputs, 1).view(batch, STEPS * FRAMES_A_STEP, MELS)
        return spoken, self.spectrum(self.postnet(spoken))


def _absolute_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    text, mels, spectrum = inputs
    spoken, heard = model(text, mels)
    return F.l1_loss(spoken, mels) + F.l1_loss(heard, spectrum)


def _clips(batch: int) -> Inputs:
    frames = STEPS * FRAMES_A_STEP
    mels, spectrum = (torch.empty(batch, frames, width, device="meta") for width in (MELS, SPECTRUM))
    return labels(batch, CHARACTERS), mels, spectrum


def specs() -> list[Spec]:
    return [
        described(
            "tacotron", "speech synthesis", "tacotron", Tacotron, _clips, _absolute_loss, TACOTRON_RECIPE,
            "Wang et al. 2017, arXiv:1703.10135, as keithito/tacotron sizes it", batches=(16, 32), sample_unit="clip",
        )
    ]  # fmt: skip
