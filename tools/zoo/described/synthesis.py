"""Speech synthesis: Tacotron 2, WaveGlow and FastPitch on LJSpeech, as NVIDIA's DeepLearningExamples trains them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

NVIDIA = "NVIDIA DeepLearningExamples PyTorch/SpeechSynthesis"
TEXT, MELS, FRAMES = 160, 80, 768  # a padded LJSpeech clip: about 150 characters, 8 s in frames of 256 / 22,050 s
# Clips are padded to a batch's longest: LJSpeech's longest clip has 10.1 s, and 104 clips have one of about 10 s.
PADDED_FRAMES = 864
WAVEGLOW_SEGMENT = 8000  # audio samples a training segment
TACOTRON_RECIPE = Recipe("ljspeech", 104, 832, "adam", f"{NVIDIA}/Tacotron2 (104 per GPU in mixed precision)")
WAVEGLOW_RECIPE = Recipe("ljspeech", 10, 80, "adam", f"{NVIDIA}/Tacotron2 (WaveGlow: 10 per GPU in mixed precision)")
FASTPITCH_RECIPE = Recipe("ljspeech", 32, 256, "lamb", f"{NVIDIA}/FastPitch (32 x 8 GPUs)")


class Tacotron2(nn.Module):
    """Shen et al. 2018: a BLSTM over text, a decoder of two LSTM cells with location attention, a postnet.

    The decoder is a loop over frames, as NVIDIA's code runs it: cells, attention and projections of one frame after
    another, so that weights are read, and their gradients written and summed, in every frame.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(148, 512)
        self.convolutions = nn.Sequential(*(_conv1d(512, 512, 5, nn.ReLU()) for _ in range(3)))
        self.encoder = nn.LSTM(512, 256, bidirectional=True, batch_first=True)
        self.prenet = nn.Sequential(
            nn.Linear(MELS, 256, bias=False),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(256, 256, bias=False),
            nn.ReLU(),
            nn.Dropout(0.5),
        )
        self.attention_rnn, self.decoder_rnn = nn.LSTMCell(768, 1024), nn.LSTMCell(1536, 1024)
        self.query, self.memory = nn.Linear(1024, 128, bias=False), nn.Linear(512, 128, bias=False)
        self.location = nn.Conv1d(2, 32, 31, padding=15, bias=False)
        self.location_dense, self.score = nn.Linear(32, 128, bias=False), nn.Linear(128, 1, bias=False)
        self.projection, self.gate = nn.Linear(1536, MELS), nn.Linear(1536, 1)
        self.postnet = nn.Sequential(
            _conv1d(MELS, 512, 5, nn.Tanh()),
            *(_conv1d(512, 512, 5, nn.Tanh()) for _ in range(3)),
            _conv1d(512, MELS, 5, nn.Identity()),
        )

    def forward(self, text: torch.Tensor, mels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        encoded, _ = self.encoder(self.convolutions(self.embedding(text).transpose(1, 2)).transpose(1, 2))
        output, stop = self._decode(self.prenet(mels.permute(2, 0, 1)), encoded)
        return output, output + self.postnet(output), stop

    def _decode(self, frames: torch.Tensor, encoded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Spectrum and stop of every frame, each from the frame before it: teacher forcing."""
        memory = self.memory(encoded)
        batch, length, width = encoded.shape
        state, second = ((encoded.new_zeros(batch, 1024), encoded.new_zeros(batch, 1024)) for _ in range(2))
        context, weights = encoded.new_zeros(batch, width), encoded.new_zeros(batch, 2, length)
        outputs, stops = [], []
        for frame in frames.unbind(0):
            hidden, cell = self.attention_rnn(torch.cat((frame, context), -1), state)
            state = F.dropout(hidden, 0.1, self.training), cell
            context, aligned = self._attend(state[0], encoded, memory, weights)
            weights = torch.stack((aligned, weights[:, 1] + aligned), 1)
            hidden, cell = self.decoder_rnn(torch.cat((state[0], context), -1), second)
            second = F.dropout(hidden, 0.1, self.training), cell
            both = torch.cat((second[0], context), 1)
            outputs.append(self.projection(both))
            stops.append(self.gate(both))
        return torch.stack(outputs, 2), torch.stack(stops, 1)

    def _attend(
        self, hidden: torch.Tensor, encoded: torch.Tensor, memory: torch.Tensor, weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What the text says to a frame, and where it was looked at: scores from query, memory and earlier weights."""
        location = self.location_dense(self.location(weights).transpose(1, 2))
        energies = self.score(torch.tanh(self.query(hidden.unsqueeze(1)) + location + memory)).squeeze(-1)
        energies.data.masked_fill_(torch.empty_like(energies, dtype=torch.bool), -float("inf"))
        aligned = F.softmax(energies, dim=1)
        return torch.bmm(aligned.unsqueeze(1), encoded).squeeze(1), aligned


def _conv1d(inputs: int, outputs: int, kernel: int, activation: nn.Module) -> nn.Sequential:
    conv = nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2)
    return nn.Sequential(conv, nn.BatchNorm1d(outputs), activation, nn.Dropout(0.5))


def _tacotron_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    text, mels, gates = inputs
    before, after, stop = model(text, mels)
    loss = F.mse_loss(before, mels) + F.mse_loss(after, mels)
    return loss + F.binary_cross_entropy_with_logits(stop.view(-1, 1), gates.view(-1, 1))


class WaveGlow(nn.Module):
    """Prenger et al. 2019: 12 flows over groups of 8 audio samples, each a mixer and a WaveNet of 8 x 512."""

    def __init__(self) -> None:
        super().__init__()
        self.upsample = nn.ConvTranspose1d(MELS, MELS, 1024, stride=256)
        self.mixers, self.coupling = nn.ModuleList(), nn.ModuleList()
        channels = 8
        self.early: list[int] = []
        for flow in range(12):
            if flow % 4 == 0 and flow:
                channels -= 2
                self.early.append(flow)
            self.mixers.append(nn.Conv1d(channels, channels, 1, bias=False))
            self.coupling.append(WaveNet(channels // 2))

    def forward(self, mels: torch.Tensor, audio: torch.Tensor) -> torch.Tensor:
        condition = self.upsample(mels)[:, :, : audio.shape[1]]
        condition = condition.unfold(2, 8, 8).permute(0, 2, 1, 3).flatten(2).transpose(1, 2).contiguous()
        data = audio.unfold(1, 8, 8).transpose(1, 2).contiguous()
        outputs = []
        log_scale_sum: torch.Tensor | float = 0.0
        for flow, (mix, couple) in enumerate(zip(self.mixers, self.coupling, strict=True)):
            if flow in self.early:
                outputs.append(data[:, :2])
                data = data[:, 2:]
            first, second = mix(data).chunk(2, 1)
            shift, log_scale = couple(first, condition).chunk(2, 1)
            data = torch.cat((first, torch.exp(log_scale) * second + shift), 1)
            log_scale_sum = log_scale_sum + log_scale.sum()
        latent = torch.cat([*outputs, data], 1)
        return ((latent * latent).sum() / 2 - log_scale_sum) / latent.numel()  # type: ignore[no-any-return]


class WaveNet(nn.Module):
    """Eight dilated layers of gated tanh units with 512 channels, conditioned on the spectrogram."""

    def __init__(self, inputs: int, width: int = 512, layers: int = 8) -> None:
        super().__init__()
        self.start, self.end = nn.Conv1d(inputs, width, 1), nn.Conv1d(width, 2 * inputs, 1)
        self.condition = nn.Conv1d(MELS * 8, 2 * width * layers, 1)
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 3, padding=2**layer, dilation=2**layer) for layer in range(layers)
        )
        self.mixed = nn.ModuleList(
            nn.Conv1d(width, 2 * width if layer < layers - 1 else width, 1) for layer in range(layers)
        )
        self.width = width

    def forward(self, data: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        data = self.start(data)
        conditions = self.condition(condition).chunk(len(self.dilated), 1)
        skipped = torch.zeros_like(data)
        for dilated, mixed, extra in zip(self.dilated, self.mixed, conditions, strict=True):
            gates = dilated(data) + extra
            output = mixed(torch.tanh(gates[:, : self.width]) * torch.sigmoid(gates[:, self.width :]))
            if output.shape[1] == self.width:
                skipped = skipped + output
            else:
                data = data + output[:, : self.width]
                skipped = skipped + output[:, self.width :]
        return self.end(skipped)  # type: ignore[no-any-return]


class FastPitch(nn.Module):
    """Lancucki 2021, arXiv:2006.06873: six feed-forward transformer blocks over text, six over frames, predictors."""

    def __init__(self, width: int = 384) -> None:
        super().__init__()
        self.embedding = nn.Embedding(148, width)
        self.encoder = nn.ModuleList(TransformerBlock(width) for _ in range(6))
        self.decoder = nn.ModuleList(TransformerBlock(width) for _ in range(6))
        self.predictors = nn.ModuleList(_predictor(width) for _ in range(2))
        self.pitch = nn.Conv1d(1, width, 3, padding=1)
        self.output = nn.Linear(width, MELS)

    def forward(self, text: torch.Tensor, pitch: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        hidden = self.embedding(text)
        for block in self.encoder:
            hidden = block(hidden)
        predicted = [predictor(hidden.transpose(1, 2)) for predictor in self.predictors]
        hidden = hidden + self.pitch(pitch.unsqueeze(1)).transpose(1, 2)
        hidden = torch.bmm(torch.empty(text.shape[0], FRAMES, text.shape[1], device="meta"), hidden)
        for block in self.decoder:
            hidden = block(hidden)
        return self.output(hidden), predicted


class TransformerBlock(nn.Module):
    """One attention head of width 64 and two convolutions of width 3 through 1,536 channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * 64), nn.Linear(64, width, bias=False)
        self.convolutions = nn.Sequential(
            nn.Conv1d(width, 4 * width, 3, padding=1),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv1d(4 * width, width, 3, padding=1),
            nn.Dropout(0.1),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(data).chunk(3, -1)
        weights = F.dropout(F.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.125, dim=2), 0.1, self.training)
        data = self.norms[0](data + F.dropout(self.out(torch.bmm(weights, v)), 0.1, self.training))
        return self.norms[1](data + self.convolutions(data.transpose(1, 2)).transpose(1, 2))  # type: ignore[no-any-return]


def _predictor(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(width, 256, 3, padding=1),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Conv1d(256, 256, 3, padding=1),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Conv1d(256, 1, 1),
    )


def _fastpitch_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    text, pitch, mels = inputs
    output, predicted = model(text, pitch)
    return F.mse_loss(output, mels) + sum(F.mse_loss(item.squeeze(1), pitch) for item in predicted)  # type: ignore[return-value]


def _clip(batch: int) -> Inputs:
    return (
        labels(batch, TEXT),
        torch.empty(batch, MELS, PADDED_FRAMES, device="meta"),
        torch.empty(batch, PADDED_FRAMES, device="meta"),
    )


def specs() -> list[Spec]:
    task = "speech synthesis"
    clip = f"clips padded to {TEXT} characters and {FRAMES} frames"
    return [
        described(
            "tacotron2",
            task,
            "tacotron",
            Tacotron2,
            _clip,
            _tacotron_loss,
            TACOTRON_RECIPE,
            f"Shen et al. 2018, arXiv:1712.05884, and {NVIDIA}/Tacotron2",
            batches=(8, 16),
            sample_unit="clip",
            notes=(f"clips padded to {TEXT} characters and {PADDED_FRAMES} frames",),
        ),
        described(
            "waveglow",
            task,
            "waveglow",
            WaveGlow,
            lambda b: (torch.empty(b, MELS, 32, device="meta"), torch.empty(b, WAVEGLOW_SEGMENT, device="meta")),
            lambda model, inputs: model(*inputs),
            WAVEGLOW_RECIPE,
            f"Prenger et al. 2019, arXiv:1811.00002, and {NVIDIA}/Tacotron2",
            batches=(8, 16),
            sample_unit="segment",
            notes=(f"segments of {WAVEGLOW_SEGMENT:,} audio samples",),
        ),
        described(
            "fastpitch",
            task,
            "fastpitch",
            FastPitch,
            lambda b: (
                labels(b, TEXT),
                torch.empty(b, TEXT, device="meta"),
                torch.empty(b, FRAMES, MELS, device="meta"),
            ),
            _fastpitch_loss,
            FASTPITCH_RECIPE,
            f"Lancucki 2021, arXiv:2006.06873, and {NVIDIA}/FastPitch",
            batches=(16, 32),
            sample_unit="clip",
            notes=(clip,),
        ),
    ]
