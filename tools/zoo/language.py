"""Transformer language models by their published configurations, built by transformers without weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.fx.experimental._config
import torch.nn.functional as F  # noqa: N812

from planner.workloads.torch_trace import Inputs
from tools.zoo import recipes
from tools.zoo.spec import Recipe, Spec, Step

BATCHES = (16, 32)  # the peak is convex in the batch: here activations, not gradients, decide it


def _tokens(batch: int, length: int) -> torch.Tensor:
    return torch.empty(batch, length, dtype=torch.long, device="meta")


def make_pretrained_class(auto_class: str, config: Any, attention: str = "sdpa") -> Any:
    import transformers
    from transformers import masking_utils

    # These ask the data, which the meta device has not: rows are neither packed nor padded here.
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    masking_utils._ignore_causal_mask_sdpa = lambda *_, **__: True
    torch.fx.experimental._config.meta_nonzero_assume_all_nonzero = True
    with torch.device("meta"):
        return getattr(transformers, auto_class).from_config(config, attn_implementation=attention)


def causal_lm_spec(
    name: str, family: str, make_config: Callable[[], Any], length: int, recipe: Recipe, cited: str
) -> Spec:
    """Next-token training on ``length`` tokens, labels everywhere; a sample is one sequence."""

    def build() -> Step:
        return Step(
            make_pretrained_class("AutoModelForCausalLM", make_config()),
            lambda batch: (_tokens(batch, length),),
            _next_token_loss,
        )

    return _sequence_spec(name, "language modelling", family, build, length, recipe, cited)


def _next_token_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    (tokens,) = inputs
    with torch.device("meta"):
        return model(input_ids=tokens, labels=tokens, use_cache=False).loss  # type: ignore[no-any-return]


def encoder_spec(
    name: str,
    family: str,
    make_config: Callable[[], Any],
    length: int,
    recipe: Recipe,
    cited: str,
    head: str,
    attention: str = "sdpa",
) -> Spec:
    """An encoder with the head ``MaskedLM`` or ``SequenceClassification``."""
    task = {"MaskedLM": "language pretraining"}.get(head, "text classification")

    def build() -> Step:
        model = make_pretrained_class(f"AutoModelFor{head}", make_config(), attention)
        return Step(model, lambda batch: (_tokens(batch, length),), _head_loss(head))

    return _sequence_spec(name, task, family, build, length, recipe, cited)


def _head_loss(head: str) -> Callable[[Any, Inputs], torch.Tensor]:
    def loss(model: Any, inputs: Inputs) -> torch.Tensor:
        (tokens,) = inputs
        labels = tokens if head == "MaskedLM" else tokens[:, 0]
        with torch.device("meta"):
            return model(input_ids=tokens, labels=labels).loss  # type: ignore[no-any-return]

    return loss


class SpanPredictor(torch.nn.Module):
    """BERT as published for SQuAD: the encoder with its pooler, unused here, and a start/end layer."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        self.ends = torch.nn.Linear(encoder.config.hidden_size, 2, device="meta")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.ends(self.encoder(input_ids=tokens).last_hidden_state)  # type: ignore[no-any-return]


def span_spec(
    name: str,
    family: str,
    make_config: Callable[[], Any],
    length: int,
    recipe: Recipe,
    cited: str,
    attention: str = "sdpa",
) -> Spec:
    """Question answering as in Devlin et al. 2019: cross entropy over the start and the end position."""

    def build() -> Step:
        model = SpanPredictor(make_pretrained_class("AutoModel", make_config(), attention))
        return Step(model, lambda batch: (_tokens(batch, length),), _span_loss)

    return _sequence_spec(name, "question answering", family, build, length, recipe, cited)


def as_apex_o2(spec: Spec) -> Spec:
    """The step as NVIDIA's older scripts ran it: half weights and activations, attention scores stored."""
    note = "weights and activations in half precision (Apex O2); attention scores are stored"
    return replace(spec, pure_half=True, notes=(*spec.notes, note))


class MaskedPretrainer(torch.nn.Module):
    """BERT pretraining as NVIDIA runs it: the vocabulary softmax over the masked positions only, and next sentence."""

    def __init__(self, encoder: Any, masked: int) -> None:
        super().__init__()
        width, vocabulary = encoder.config.hidden_size, encoder.config.vocab_size
        self.encoder, self.masked = encoder, masked
        self.transform = torch.nn.Linear(width, width, device="meta")
        self.norm = torch.nn.LayerNorm(width, device="meta")
        self.bias = torch.nn.Parameter(torch.empty(vocabulary, device="meta"))
        self.next_sentence = torch.nn.Linear(width, 2, device="meta")

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        output = self.encoder(input_ids=tokens)
        chosen = torch.empty(tokens.shape[0] * self.masked, dtype=torch.long, device="meta")
        hidden = output.last_hidden_state.flatten(0, 1).index_select(0, chosen)
        hidden = self.norm(F.gelu(self.transform(hidden)))
        words = F.linear(hidden, self.encoder.embeddings.word_embeddings.weight, self.bias)
        return words, self.next_sentence(output.pooler_output)


def pretraining_spec(
    name: str, family: str, make_config: Callable[[], Any], length: int, masked: int, recipe: Recipe, cited: str
) -> Spec:
    """Masked words (``masked`` of ``length``) and next sentence; attention scores stored."""

    def build() -> Step:
        model = MaskedPretrainer(make_pretrained_class("AutoModel", make_config(), "eager"), masked)
        return Step(model, lambda batch: (_tokens(batch, length),), _pretraining_loss)

    return _sequence_spec(name, "language pretraining", family, build, length, recipe, cited)


def _pretraining_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    (tokens,) = inputs
    with torch.device("meta"):
        words, following = model(tokens)
        target = torch.empty(words.shape[0], dtype=torch.long)
    return F.cross_entropy(words, target) + F.cross_entropy(following, tokens[:, 0])


def _span_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    (tokens,) = inputs
    position = tokens[:, 0]
    with torch.device("meta"):
        start, end = model(tokens).split(1, dim=-1)
    return (F.cross_entropy(start.squeeze(-1), position) + F.cross_entropy(end.squeeze(-1), position)) / 2


def seq2seq_spec(
    name: str, family: str, make_config: Callable[[], Any], lengths: tuple[int, int], recipe: Recipe, cited: str
) -> Spec:
    """Encoder and decoder with source and target lengths; ``seq_length`` is the source's."""

    def build() -> Step:
        def inputs(batch: int) -> Inputs:
            return _tokens(batch, lengths[0]), _tokens(batch, lengths[1])

        return Step(make_pretrained_class("AutoModelForSeq2SeqLM", make_config()), inputs, _seq2seq_loss)

    return _sequence_spec(name, "text to text", family, build, lengths[0], recipe, cited)


def _seq2seq_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    source, target = inputs
    with torch.device("meta"):
        output = model(input_ids=source, decoder_input_ids=target, labels=target, use_cache=False)
    return output.loss  # type: ignore[no-any-return]


def _sequence_spec(
    name: str, task: str, family: str, build: Callable[[], Step], length: int, recipe: Recipe, cited: str
) -> Spec:
    import transformers

    return Spec(
        name=name,
        task=task,
        family=family,
        source=f"configuration: {cited}; transformers {transformers.__version__}, traced on the meta device",
        build=build,
        recipe=recipe,
        batches=BATCHES,
        extras={"seq_length": length, "sample_unit": "sequence"},
    )


def config(kind: str, **fields: Any) -> Callable[[], Any]:
    def make() -> Any:
        import transformers

        return getattr(transformers, kind)(**fields)

    return make


def bert_specs() -> list[Spec]:
    """BERT for fine-tuning as people run it today, and as NVIDIA's benchmarks ran it."""
    bert_large = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    bert_cited = "Devlin et al. 2019, arXiv:1810.04805"
    berts = [
        span_spec(name, "bert", config("BertConfig", **fields), 384, recipes.BERT_FINETUNE, bert_cited)
        for name, fields in (("bert-base", {}), ("bert-large", bert_large))
    ]
    nvidia = "NVIDIA DeepLearningExamples PyTorch/LanguageModeling/BERT, Apex O2"
    padded = {"vocab_size": 30528}
    squad = [
        as_apex_o2(span_spec(name, "bert", config("BertConfig", **fields), 384, recipes.BERT_SQUAD, nvidia, "eager"))
        for name, fields in (("bert-base-squad", padded), ("bert-large-squad", {**bert_large, **padded}))
    ]
    pretraining = [
        as_apex_o2(
            pretraining_spec(
                name, "bert", config("BertConfig", **fields), length, masked, recipes.BERT_PRETRAIN, nvidia
            )
        )
        for name, length, masked, fields in (
            ("bert-base-pretraining", 128, 20, padded),
            ("bert-base-pretraining@512", 512, 80, padded),
            ("bert-large-pretraining", 128, 20, {**bert_large, **padded}),
            ("bert-large-pretraining@512", 512, 80, {**bert_large, **padded}),
        )
    ]
    return [*berts, *squad, *pretraining]
