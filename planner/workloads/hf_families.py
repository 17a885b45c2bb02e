"""What a Hugging Face ``config.json`` of each known ``model_type`` describes, with its library's defaults."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from planner.errors import InputError
from planner.workloads.config_fields import Fields, divided
from planner.workloads.formulas.decoders import Experts, GptLike, LlamaLike, gpt_like, llama_like
from planner.workloads.formulas.encoders import BertLike, Encoder, VisionTransformer, bert_like, vision_transformer
from planner.workloads.formulas.seq2seq import T5, Whisper, t5, whisper
from planner.workloads.formulas.tape import Tape, Value

DECODER_TOKENS = 2048
ENCODER_TOKENS = 512
T5_TARGET_SHARE = 114 / 512  # Raffel et al. 2020: 512 tokens with 15 % of them cut out leave targets of 114


class Described(NamedTuple):
    """A network's step, ready to be written on a tape; ``longest`` is the most tokens its position table has."""

    step: Callable[[Tape], Value]
    task: str
    family: str
    seq_length: int | None = None
    longest: int | None = None
    image_size: int | None = None
    notes: tuple[str, ...] = ()


Reader = Callable[[Fields, int | None], Described]


def _llama(
    fields: Fields, asked: int | None, *, family: str = "llama", tied: bool = False, **habits: object
) -> Described:
    """Llama and what descends from it; ``habits`` are fields of LlamaLike that the family fixes."""
    hidden, heads = fields.whole("hidden_size"), fields.whole("num_attention_heads")
    head_width = fields.whole("head_dim", default=0, least=0) or divided(fields, hidden, heads, "hidden_size")
    if family == "qwen3":
        head_width = fields.whole("head_dim", default=128)
    elif family.startswith("gemma"):
        head_width = fields.whole("head_dim", default=256)
    shape = LlamaLike(
        hidden=hidden,
        inner=fields.whole("intermediate_size"),
        layers=fields.whole("num_hidden_layers"),
        heads=heads,
        kv_heads=fields.whole("num_key_value_heads", default=heads),
        head_width=head_width,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", tied),
    )
    divided(fields, shape.heads, shape.kv_heads, "num_attention_heads")
    shape = shape._replace(**habits)  # type: ignore[arg-type]
    tokens = _tokens(fields, asked, DECODER_TOKENS)
    return Described(partial(_on_tape, llama_like, shape, tokens), "language modelling", _zoo_family(family), tokens)


def _zoo_family(family: str) -> str:
    """The zoo's name of a family: 'qwen3' and 'gemma2' are of qwen and gemma."""
    return family.rstrip("0123456789")


def _on_tape(step: Callable[..., Value], shape: object, tokens: int, tape: Tape) -> Value:
    return step(tape, shape, tokens)


def _tokens(fields: Fields, asked: int | None, usual: int) -> int:
    """The tokens asked for; else what is usual, or the most that the configuration names where that is less."""
    most = fields.whole("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length", default=usual)
    return asked or min(usual, most)


def _plain_llama(fields: Fields, asked: int | None) -> Described:
    bias = fields.flag("attention_bias", False)
    return _llama(fields, asked, qkv_bias=bias, out_bias=bias, mlp_bias=fields.flag("mlp_bias", False))


def _mistral(fields: Fields, asked: int | None) -> Described:
    return _llama(fields, asked, family="mistral")


def _mixtral(fields: Fields, asked: int | None) -> Described:
    experts = Experts(
        number=fields.whole("num_local_experts", default=8),
        chosen=fields.whole("num_experts_per_tok", default=2),
        inner=fields.whole("intermediate_size"),
    )
    return _llama(fields, asked, family="mistral", experts=_possible(fields, experts))


def _possible(fields: Fields, experts: Experts) -> Experts:
    if experts.chosen > experts.number:
        raise InputError(f"{fields.subject}: {experts.chosen} of {experts.number} experts cannot be chosen")
    return experts


def _qwen1(fields: Fields, asked: int | None) -> Described:
    """The first Qwen counts gate and up projection together in ``intermediate_size``."""
    inner = divided(fields, fields.whole("intermediate_size"), 2, "intermediate_size")
    return _llama(fields, asked, family="qwen", qkv_bias=True, inner=inner)


def _qwen2(fields: Fields, asked: int | None) -> Described:
    return _llama(fields, asked, family="qwen2", qkv_bias=True)


def _qwen3(fields: Fields, asked: int | None) -> Described:
    bias = fields.flag("attention_bias", False)
    return _llama(fields, asked, family="qwen3", qk_norm=True, qkv_bias=bias, out_bias=bias)


def _qwen3_experts(fields: Fields, asked: int | None) -> Described:
    experts = Experts(
        number=fields.whole("num_experts", default=128),
        chosen=fields.whole("num_experts_per_tok", default=8),
        inner=fields.whole("moe_intermediate_size", default=768),
    )
    if fields.whole("decoder_sparse_step", default=1) != 1 or fields.content.get("mlp_only_layers"):
        raise InputError(f"{fields.subject}: layers with and without experts in turn are not described here")
    return _llama(fields, asked, family="qwen3", qk_norm=True, experts=_possible(fields, experts))


def _gemma(fields: Fields, asked: int | None) -> Described:
    return _llama(fields, asked, family="gemma", tied=True, gemma=True)


def _gemma2(fields: Fields, asked: int | None) -> Described:
    capped = fields.content.get("attn_logit_softcapping", 50.0) is not None
    described = _llama(fields, asked, family="gemma2", tied=True, gemma=True, norms_after=True, scores_capped=capped)
    return described._replace(notes=("attention scores are stored: they are capped",)) if capped else described


def _gemma3(fields: Fields, asked: int | None) -> Described:
    return _llama(fields, asked, family="gemma3", tied=True, gemma=True, norms_after=True, qk_norm=True)


def _phi3(fields: Fields, asked: int | None) -> Described:
    share = _rotary_share(fields, 1.0)
    return _llama(fields, asked, family="phi3", fused_projections=True, rotary_share=share)


def _rotary_share(fields: Fields, default: float) -> float:
    inside = fields.inside("rope_parameters")
    named = "partial_rotary_factor"
    return fields.number("rotary_pct", named, default=inside.number(named, default=default))


def _gpt(shape: GptLike, fields: Fields, asked: int | None, family: str) -> Described:
    divided(fields, shape.hidden, shape.heads, "the hidden size")
    tokens = _tokens(fields, asked, DECODER_TOKENS)
    longest = (
        fields.whole("max_position_embeddings", "n_positions", default=shape.positions) if shape.positions else None
    )
    step = partial(_on_tape, gpt_like, shape, tokens)
    return Described(step, "language modelling", family, tokens, longest)


def _gpt2(fields: Fields, asked: int | None) -> Described:
    hidden = fields.whole("n_embd", "hidden_size", default=768)
    shape = GptLike(
        hidden=hidden,
        inner=fields.whole("n_inner", default=4 * hidden),
        layers=fields.whole("n_layer", "num_hidden_layers", default=12),
        heads=fields.whole("n_head", "num_attention_heads", default=12),
        vocabulary=fields.whole("vocab_size", default=50257),
        tied=fields.flag("tie_word_embeddings", True),
        positions=fields.whole("n_positions", "max_position_embeddings", default=1024),
        fused_qkv=True,
        activation=fields.text("activation_function", default="gelu_new"),
        dropout=fields.number("resid_pdrop", default=0.1),
        embedding_dropout=fields.number("embd_pdrop", default=0.1),
    )
    return _gpt(shape, fields, asked, "gpt2")


def _gpt_neox(fields: Fields, asked: int | None) -> Described:
    dropout = fields.number("hidden_dropout", default=0.0)
    shape = GptLike(
        hidden=fields.whole("hidden_size"),
        inner=fields.whole("intermediate_size"),
        layers=fields.whole("num_hidden_layers"),
        heads=fields.whole("num_attention_heads"),
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", False),
        fused_qkv=True,
        activation=fields.text("hidden_act", default="gelu"),
        dropout=dropout,
        embedding_dropout=dropout,
        parallel=fields.flag("use_parallel_residual", True),
        rotary_share=_rotary_share(fields, 0.25),
    )
    return _gpt(shape, fields, asked, "gpt-neox")


def _opt(fields: Fields, asked: int | None) -> Described:
    hidden = fields.whole("hidden_size")
    projected = fields.whole("word_embed_proj_dim", default=hidden)
    dropout = fields.number("dropout", default=0.1)
    shape = GptLike(
        hidden=hidden,
        inner=fields.whole("ffn_dim"),
        layers=fields.whole("num_hidden_layers"),
        heads=fields.whole("num_attention_heads"),
        vocabulary=fields.whole("vocab_size", default=50272),
        tied=fields.flag("tie_word_embeddings", True),
        positions=fields.whole("max_position_embeddings", default=2048) + 2,
        activation=fields.text("activation_function", default="relu"),
        dropout=dropout,
        query_scaled=True,
        places_of_each=True,
        norm_after=not fields.flag("do_layer_norm_before", True),
        embedding_width=None if projected == hidden else projected,
    )
    return _gpt(shape, fields, asked, "opt")


def _phi(fields: Fields, asked: int | None) -> Described:
    hidden = fields.whole("hidden_size", default=2048)
    if fields.flag("qk_layernorm", False):
        raise InputError(f"{fields.subject}: norms on queries and keys are not described here for phi")
    shape = GptLike(
        hidden=hidden,
        inner=fields.whole("intermediate_size", default=4 * hidden),
        layers=fields.whole("num_hidden_layers", default=24),
        heads=fields.whole("num_attention_heads", default=32),
        vocabulary=fields.whole("vocab_size", default=51200),
        tied=fields.flag("tie_word_embeddings", False),
        head_bias=True,
        activation=fields.text("hidden_act", default="gelu_new"),
        dropout=fields.number("resid_pdrop", default=0.0),
        embedding_dropout=fields.number("embd_pdrop", default=0.0),
        parallel=True,
        one_norm=True,
        rotary_share=_rotary_share(fields, 0.5),
    )
    return _gpt(shape, fields, asked, "phi")


def _mpt(fields: Fields, asked: int | None) -> Described:
    hidden = fields.whole("d_model", default=2048)
    if not fields.flag("no_bias", True):
        raise InputError(f"{fields.subject}: an mpt with biases is not described here")
    shape = GptLike(
        hidden=hidden,
        inner=fields.whole("expansion_ratio", default=4) * hidden,
        layers=fields.whole("n_layers", default=24),
        heads=fields.whole("n_heads", default=16),
        vocabulary=fields.whole("vocab_size", default=50368),
        tied=fields.flag("tie_word_embeddings", True),
        bias=False,
        fused_qkv=True,
        scores_stored=True,
    )
    return _gpt(shape, fields, asked, "mpt")._replace(notes=("attention scores are stored: they carry biases",))


_BERT_HEADS = {
    "ForMaskedLM": ("masked_lm", "language pretraining"),
    "ForPreTraining": ("pretraining", "language pretraining"),
    "ForSequenceClassification": ("sequence", "text classification"),
    "ForTokenClassification": ("token", "token classification"),
    "ForQuestionAnswering": ("question", "question answering"),
}


def _bert(fields: Fields, asked: int | None, *, roberta: bool = False) -> Described:
    head, task, notes = _bert_head(fields)
    positions = fields.whole("max_position_embeddings", default=512)
    longest = positions - 2 if roberta else positions
    tokens = asked or min(ENCODER_TOKENS, longest)
    shape = BertLike(
        encoder=_encoder(fields, dropout=0.1),
        vocabulary=fields.whole("vocab_size", default=50265 if roberta else 30522),
        positions=positions,
        types=fields.whole("type_vocab_size", default=2),
        head=head,
        labels=_labels(fields),
        roberta=roberta,
    )
    family = "roberta" if roberta else "bert"
    return Described(partial(_on_tape, bert_like, shape, tokens), task, family, tokens, longest, notes=notes)


def _bert_head(fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    """What is trained on top, from the ``architectures`` entry; masked words where it says nothing of a head."""
    named = fields.content.get("architectures") or [""]
    first = str(named[0]) if isinstance(named, list) and named else ""
    for ending, (head, task) in _BERT_HEADS.items():
        if first.endswith(ending):
            return head, task, ()
    return "masked_lm", "language pretraining", ("a masked word head is assumed: 'architectures' names none",)


def _labels(fields: Fields) -> int:
    names = fields.content.get("id2label")
    return len(names) if isinstance(names, dict) and names else fields.whole("num_labels", default=2)


def _encoder(fields: Fields, dropout: float) -> Encoder:
    hidden, heads = fields.whole("hidden_size", default=768), fields.whole("num_attention_heads", default=12)
    divided(fields, hidden, heads, "hidden_size")
    return Encoder(
        hidden=hidden,
        inner=fields.whole("intermediate_size", default=3072),
        layers=fields.whole("num_hidden_layers", default=12),
        heads=heads,
        dropout=fields.number("hidden_dropout_prob", default=dropout),
        qkv_bias=fields.flag("qkv_bias", True),
    )


def _roberta(fields: Fields, asked: int | None) -> Described:
    return _bert(fields, asked, roberta=True)


def _vit(fields: Fields, asked: int | None) -> Described:
    image, patch = fields.whole("image_size", default=224), fields.whole("patch_size", default=16)
    divided(fields, image, patch, "image_size")
    shape = VisionTransformer(
        encoder=_encoder(fields, dropout=0.0),
        image_size=image,
        patch_size=patch,
        channels=fields.whole("num_channels", default=3),
        labels=_labels(fields),
    )
    return Described(lambda tape: vision_transformer(tape, shape), "image classification", "vit", image_size=image)


def _t5(fields: Fields, asked: int | None) -> Described:
    tokens = asked or fields.whole("n_positions", default=ENCODER_TOKENS)
    target = max(1, round(tokens * T5_TARGET_SHARE))
    layers = fields.whole("num_layers", default=6)
    tied = fields.flag("tie_word_embeddings", True)
    shape = T5(
        hidden=fields.whole("d_model", default=512),
        inner=fields.whole("d_ff", default=2048),
        head_width=fields.whole("d_kv", default=64),
        encoder_layers=layers,
        decoder_layers=fields.whole("num_decoder_layers", default=layers),
        heads=fields.whole("num_heads", default=8),
        buckets=fields.whole("relative_attention_num_buckets", default=32),
        vocabulary=fields.whole("vocab_size", default=32128),
        dropout=fields.number("dropout_rate", default=0.1),
        gated=fields.text("feed_forward_proj", default="relu").startswith("gated"),
        tied=tied,
        scaled_output=tied,
    )
    notes = (f"targets of {target:,} tokens for sources of {tokens:,} (Raffel et al. 2020)",)
    return Described(lambda tape: t5(tape, shape, tokens, target), "text to text", "t5", tokens, notes=notes)


def _whisper(fields: Fields, asked: int | None) -> Described:
    hidden = fields.whole("d_model", default=384)
    positions = fields.whole("max_target_positions", default=448)
    target = asked or positions
    shape = Whisper(
        hidden=hidden,
        encoder_inner=fields.whole("encoder_ffn_dim", default=1536),
        decoder_inner=fields.whole("decoder_ffn_dim", default=1536),
        encoder_layers=fields.whole("encoder_layers", default=4),
        decoder_layers=fields.whole("decoder_layers", default=4),
        encoder_heads=fields.whole("encoder_attention_heads", default=6),
        decoder_heads=fields.whole("decoder_attention_heads", default=6),
        mel_bins=fields.whole("num_mel_bins", default=80),
        frames=fields.whole("max_source_positions", default=1500),
        positions=positions,
        vocabulary=fields.whole("vocab_size", default=51865),
        dropout=fields.number("dropout", default=0.0),
    )
    notes = (f"{2 * shape.frames:,} spectra (30 s of sound) and a transcript of {target:,} tokens a sample",)
    step = partial(_on_tape, whisper, shape, target)
    return Described(step, "speech recognition", "whisper", target, positions, notes=notes)


READERS: Mapping[str, Reader] = {
    "llama": _plain_llama,
    "mistral": _mistral,
    "mixtral": _mixtral,
    "qwen": _qwen1,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_experts,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "phi": _phi,
    "phi3": _phi3,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "mpt": _mpt,
    "opt": _opt,
    "bert": _bert,
    "roberta": _roberta,
    "t5": _t5,
    "mt5": _t5,
    "vit": _vit,
    "whisper": _whisper,
}
