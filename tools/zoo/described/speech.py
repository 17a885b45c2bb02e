"""Speech recognition: Jasper, QuartzNet, DeepSpeech 2 and RNN-T."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

NVIDIA = "NVIDIA DeepLearningExamples"
TRAINED_FRAMES = 1250  # mean padded length of a batch: utterances average 12.3 s
CHARACTERS = 29
JASPER_RECIPE = Recipe(
    "librispeech", 32, 2048, "adamw", f"{NVIDIA} PyTorch/SpeechRecognition/Jasper (64 x 2 steps on 8 GPUs)"
)
QUARTZNET_RECIPE = Recipe(
    "librispeech", 72, 1152, "adamw", f"{NVIDIA} PyTorch/SpeechRecognition/QuartzNet (144 x 8 GPUs)"
)
DEEPSPEECH_RECIPE = Recipe(
    "librispeech", 20, 160, "sgd", "Amodei et al. 2016, arXiv:1512.02595; Sia/Pollux profiles (20 at first)"
)
RNNT_RECIPE = Recipe("librispeech", 64, 2048, "lamb", "MLPerf training v1.0, RNN-T (1,024 to 2,048 in all)")


def _conv_bn(inputs: int, outputs: int, kernel: int, stride: int = 1, dilation: int = 1) -> list[nn.Module]:
    padding = dilation * (kernel - 1) // 2
    return [nn.Conv1d(inputs, outputs, kernel, stride, padding, dilation, bias=False), nn.BatchNorm1d(outputs)]


def _separable_bn(inputs: int, outputs: int, kernel: int, stride: int = 1, dilation: int = 1) -> list[nn.Module]:
    padding = dilation * (kernel - 1) // 2
    depthwise = nn.Conv1d(inputs, inputs, kernel, stride, padding, dilation, groups=inputs, bias=False)
    return [depthwise, nn.Conv1d(inputs, outputs, 1, bias=False), nn.BatchNorm1d(outputs)]


class Block(nn.Module):
    """``repeats`` convolutions; every listed earlier output joins before the last activation through a 1 x 1."""

    def __init__(
        self, layer: Any, inputs: int, outputs: int, kernel: int, repeats: int, residuals: list[int], dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for index in range(repeats):
            layers += layer(inputs if index == 0 else outputs, outputs, kernel)
            if index < repeats - 1:
                layers += [nn.ReLU(inplace=True), nn.Dropout(dropout)]
        self.main = nn.Sequential(*layers)
        self.residuals = nn.ModuleList(nn.Sequential(*_conv_bn(width, outputs, 1)) for width in residuals)
        self.last = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(dropout))

    def forward(self, history: list[torch.Tensor]) -> torch.Tensor:
        output = self.main(history[-1])
        for earlier, join in zip(history[-len(self.residuals) :], self.residuals, strict=True):
            output = output + join(earlier)
        return self.last(output)  # type: ignore[no-any-return]


class ConvolutionalRecogniser(nn.Module):
    """First a strided convolution, then blocks, then an epilogue and a 1 x 1 onto characters, with CTC."""

    def __init__(self, first: nn.Module, blocks: list[Block], dense: bool, last: nn.Module, last_width: int) -> None:
        super().__init__()
        self.first, self.blocks, self.dense = first, nn.ModuleList(blocks), dense
        self.last, self.decoder = last, nn.Conv1d(last_width, CHARACTERS, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        history = [self.first(features)]
        for block in self.blocks:
            output = block(history)
            history = [*history, output] if self.dense else [output]
        return F.log_softmax(self.decoder(self.last(history[-1])).transpose(1, 2), dim=-1)


def jasper() -> nn.Module:
    """Li et al. 2019, arXiv:1904.03288: Jasper 10x5 with dense residuals."""
    blocks, widths, inputs = [], [256], 256
    for outputs, kernel, dropout in ((256, 11, 0.2), (384, 13, 0.2), (512, 17, 0.2), (640, 21, 0.3), (768, 25, 0.3)):
        for _ in range(2):
            blocks.append(Block(_conv_bn, inputs, outputs, kernel, 5, list(widths), dropout))
            widths.append(outputs)
            inputs = outputs
    first = nn.Sequential(*_conv_bn(64, 256, 11, stride=2), nn.ReLU(inplace=True), nn.Dropout(0.2))
    last = nn.Sequential(
        *_conv_bn(768, 896, 29, dilation=2),
        nn.ReLU(inplace=True),
        nn.Dropout(0.4),
        *_conv_bn(896, 1024, 1),
        nn.ReLU(inplace=True),
        nn.Dropout(0.4),
    )
    return ConvolutionalRecogniser(first, blocks, True, last, 1024)


def quartznet() -> nn.Module:
    """Kriman et al. 2020, arXiv:1910.10261: QuartzNet 15x5, separable convolutions."""
    blocks, inputs = [], 256
    for outputs, kernel in ((256, 33), (256, 39), (512, 51), (512, 63), (512, 75)):
        for _ in range(3):
            blocks.append(Block(_separable_bn, inputs, outputs, kernel, 5, [inputs], 0.0))
            inputs = outputs
    first = nn.Sequential(*_separable_bn(64, 256, 33, stride=2), nn.ReLU(inplace=True))
    last = nn.Sequential(
        *_separable_bn(512, 512, 87, dilation=2), nn.ReLU(inplace=True), *_conv_bn(512, 1024, 1), nn.ReLU(inplace=True)
    )
    return ConvolutionalRecogniser(first, blocks, False, last, 1024)


class DeepSpeech2(nn.Module):
    """Amodei et al. 2016 in its common PyTorch form: two convolutions, five bidirectional recurrent layers, CTC."""

    def __init__(self, width: int = 800, layers: int = 5) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
        )
        self.recurrent = nn.ModuleList(
            nn.LSTM(32 * 41 if index == 0 else width, width, bidirectional=True, bias=True) for index in range(layers)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.decoder = nn.Linear(width, CHARACTERS, bias=False)

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        hidden = self.convolutions(spectrogram)
        batch, channels, height, time = hidden.shape
        hidden = hidden.view(batch, channels * height, time).permute(2, 0, 1).contiguous()
        for index, layer in enumerate(self.recurrent):
            if index:
                hidden = self.norms[index](hidden.flatten(0, 1)).view(hidden.shape)
            hidden, _ = layer(hidden)
            hidden = hidden.view(time, batch, 2, -1).sum(2)
        hidden = self.norms[0](hidden.flatten(0, 1)).view(hidden.shape)
        return F.log_softmax(self.decoder(hidden), dim=-1)


class Transducer(nn.Module):
    """RNN-T as MLPerf runs it: five encoder layers of 1,024, frames stacked by two, two prediction layers, joint."""

    def __init__(self, features: int = 240, vocabulary: int = 1024) -> None:
        super().__init__()
        self.before = nn.LSTM(features, 1024, 2, dropout=0.1, batch_first=True)
        self.after = nn.LSTM(2048, 1024, 3, dropout=0.1, batch_first=True)
        self.embedding = nn.Embedding(vocabulary - 1, 512)
        self.prediction = nn.LSTM(512, 512, 2, dropout=0.3, batch_first=True)
        self.joint_encoder, self.joint_prediction = nn.Linear(1024, 512), nn.Linear(512, 512)
        self.joint = nn.Sequential(nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, vocabulary))

    def forward(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.before(features)
        batch, time, width = hidden.shape
        hidden, _ = self.after(hidden.reshape(batch, time // 2, 2 * width))
        predicted, _ = self.prediction(self.embedding(tokens))
        pairs = self.joint_encoder(hidden).unsqueeze(2) + self.joint_prediction(predicted).unsqueeze(1)
        return F.log_softmax(self.joint(pairs), dim=-1)


def _mean_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    """CTC and transducer losses are small beside the network: a pass over the log-probabilities stands for them."""
    return -model(*inputs).mean()  # type: ignore[no-any-return]


def specs() -> list[Spec]:
    task = "speech recognition"
    frames_note = f"utterances padded to {TRAINED_FRAMES} frames of 10 ms, the mean of a batch"
    return [
        described(
            "jasper",
            task,
            "jasper",
            jasper,
            lambda b: (torch.empty(b, 64, TRAINED_FRAMES, device="meta"),),
            _mean_loss,
            JASPER_RECIPE,
            f"Li et al. 2019, arXiv:1904.03288, and {NVIDIA} PyTorch/SpeechRecognition/Jasper",
            batches=(16, 32),
            sample_unit="utterance",
            notes=(frames_note,),
        ),
        described(
            "quartznet",
            task,
            "quartznet",
            quartznet,
            lambda b: (torch.empty(b, 64, TRAINED_FRAMES, device="meta"),),
            _mean_loss,
            QUARTZNET_RECIPE,
            f"Kriman et al. 2020, arXiv:1910.10261, and {NVIDIA} PyTorch/SpeechRecognition/QuartzNet",
            batches=(16, 32),
            sample_unit="utterance",
            notes=(frames_note,),
        ),
        described(
            "deepspeech2",
            task,
            "deepspeech",
            DeepSpeech2,
            lambda b: (torch.empty(b, 1, 161, TRAINED_FRAMES, device="meta"),),
            _mean_loss,
            DEEPSPEECH_RECIPE,
            "Amodei et al. 2016, arXiv:1512.02595, five bidirectional LSTM layers of 800",
            batches=(16, 32),
            sample_unit="utterance",
            notes=(frames_note,),
        ),
        described(
            "rnn-t",
            task,
            "rnn-t",
            Transducer,
            lambda b: (torch.empty(b, 400, 240, device="meta"), labels(b, 50)),
            _mean_loss,
            RNNT_RECIPE,
            "MLPerf training v1.0, rnn_speech_recognition",
            batches=(16, 32),
            sample_unit="utterance",
            notes=("400 stacked frames and 50 word pieces an utterance",),
        ),
    ]
