"""Speech transformers by their published configurations: Whisper and wav2vec 2.0."""

from __future__ import annotations

from typing import Any

import torch

from planner.workloads.torch_trace import Inputs
from tools.zoo.language import make_pretrained_class
from tools.zoo.spec import Recipe, Spec, Step

WHISPER_RECIPE = Recipe(
    "librispeech",
    16,
    256,
    "adamw",
    "Gandhi 2022, Hugging Face blog fine-tune-whisper (16 per GPU); "
    "Radford et al. 2022, arXiv:2212.04356 (256 per step)",
)
# 5 crops of 250,000 samples are in 1.4 million; 1.6 hours are 368 of them.
WAV2VEC_RECIPE = Recipe(
    "librispeech", 5, 368, "adamw", "Baevski et al. 2020, arXiv:2006.11477 (1.4M samples a GPU, 1.6 hours a step)"
)
LABELS = 128
AUDIO_SAMPLES = 250_000  # 15.6 s at 16 kHz, the crop of the paper
# width, layers of encoder and decoder, heads, mel bands
WHISPER = {
    "whisper-tiny": (384, 4, 6, 80),
    "whisper-base": (512, 6, 8, 80),
    "whisper-small": (768, 12, 12, 80),
    "whisper-medium": (1024, 24, 16, 80),
    "whisper-large-v3": (1280, 32, 20, 128),
}


def _whisper(name: str) -> Spec:
    width, layers, heads, bands = WHISPER[name]

    def build() -> Step:
        import transformers

        config = transformers.WhisperConfig(
            d_model=width,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=4 * width,
            decoder_ffn_dim=4 * width,
            num_mel_bins=bands,
            vocab_size=51866 if "v3" in name else 51865,
        )

        def inputs(batch: int) -> Inputs:
            mels = torch.empty(batch, bands, 3000, device="meta")
            return mels, torch.empty(batch, LABELS, dtype=torch.long, device="meta")

        return Step(make_pretrained_class("AutoModelForSpeechSeq2Seq", config), inputs, _whisper_loss)

    return _spec(
        name,
        "whisper",
        "Radford et al. 2022, arXiv:2212.04356",
        build,
        WHISPER_RECIPE,
        f"30 s of audio and {LABELS} tokens",
    )


def _whisper_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    mels, tokens = inputs
    with torch.device("meta"):
        return model(input_features=mels, decoder_input_ids=tokens, labels=tokens, use_cache=False).loss  # type: ignore[no-any-return]


def _wav2vec(name: str, fields: dict[str, Any]) -> Spec:
    def build() -> Step:
        import transformers

        config = transformers.Wav2Vec2Config(apply_spec_augment=False, layerdrop=0.0, **fields)
        model = make_pretrained_class("AutoModelForCTC", config)
        return Step(model, lambda batch: (torch.empty(batch, AUDIO_SAMPLES, device="meta"),), _ctc_stand_in)

    return _spec(name, "wav2vec2", "Baevski et al. 2020, arXiv:2006.11477", build, WAV2VEC_RECIPE, "15.6 s of audio")


def _ctc_stand_in(model: Any, inputs: Inputs) -> torch.Tensor:
    """CTC is small beside the network; one pass over its log-probabilities stands for it."""
    with torch.device("meta"):
        return -model(*inputs).logits.log_softmax(-1).mean()  # type: ignore[no-any-return]


def _spec(name: str, family: str, cited: str, build: Any, recipe: Recipe, sample: str) -> Spec:
    import transformers

    source = f"configuration: {cited}; transformers {transformers.__version__}, traced on the meta device"
    extras = {"sample_unit": "utterance"}
    return Spec(
        name, "speech recognition", family, source, build, recipe, (8, 16), False, extras, (f"a sample is {sample}",)
    )


def specs() -> list[Spec]:
    large = {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "feat_extract_norm": "layer",
        "do_stable_layer_norm": True,
        "conv_bias": True,
    }
    return [*map(_whisper, WHISPER), _wav2vec("wav2vec2-base", {}), _wav2vec("wav2vec2-large", large)]
