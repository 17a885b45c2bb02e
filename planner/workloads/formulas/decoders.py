"""Decoder-only language models in two lines of descent: Llama's (RMS norm, gated MLP) and GPT's (layer norm, MLP)."""

from typing import NamedTuple

from planner.workloads.formulas.layers import (
    attention,
    cross_entropy,
    embedding,
    expert_products,
    gelu_in_parts,
    layer_norm,
    linear,
    matmul,
    rms_norm,
    rotary,
    softmax,
)
from planner.workloads.formulas.tape import LONG, Tape, Value
from planner.workloads.workload import Linear


class Experts(NamedTuple):
    """``chosen`` of ``number`` experts of width ``inner`` a token; ``shared`` is one more that every token takes."""

    number: int
    chosen: int
    inner: int
    shared: int = 0


class LlamaLike(NamedTuple):
    """Dimensions and habits of a Llama, Mistral, Mixtral, Qwen, Gemma or Phi-3."""

    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    tied: bool
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    norms_after: bool = False
    gemma: bool = False
    scores_capped: bool = False
    fused_projections: bool = False
    rotary_share: float = 1.0
    experts: Experts | None = None
    dense_layers: int = 0


def llama_like(tape: Tape, shape: LlamaLike, tokens: int) -> Value:
    """Next-token loss on sequences of ``tokens``."""
    ids = tape.given(tokens, LONG)
    data, table = embedding(tape, shape.vocabulary, shape.hidden, ids)
    if shape.gemma:
        data = tape.scale(data)
    if shape.experts is not None:
        with tape.repeated(shape.layers - shape.dense_layers):
            data = _llama_layer(tape, shape, data, tokens, shape.experts)
    dense = shape.dense_layers if shape.experts is not None else shape.layers
    if dense:
        with tape.repeated(dense):
            data = _llama_layer(tape, shape, data, tokens, None)
    data = _norm(tape, shape, data)
    head = table if shape.tied else None
    scores = linear(tape, data, shape.hidden, shape.vocabulary, bias=False, weight=head)
    if shape.scores_capped:
        scores = _capped(tape, scores)
    return cross_entropy(tape, scores, shape.vocabulary, in_single=True)


def _norm(tape: Tape, shape: LlamaLike, data: Value, width: int | None = None) -> Value:
    return rms_norm(tape, data, width or shape.hidden, plus_one=shape.gemma)


def _llama_layer(tape: Tape, shape: LlamaLike, data: Value, tokens: int, experts: Experts | None) -> Value:
    mixed = _llama_attention(tape, shape, _norm(tape, shape, data), tokens)
    data = tape.add(data, _norm(tape, shape, mixed) if shape.norms_after else mixed)
    normed = _norm(tape, shape, data)
    if experts is not None:
        out = _expert_layer(tape, shape, normed, experts)
    else:
        out = _gated_mlp(tape, shape, normed, shape.inner)
    return tape.add(data, _norm(tape, shape, out) if shape.norms_after else out)


def _llama_attention(tape: Tape, shape: LlamaLike, data: Value, tokens: int) -> Value:
    q_width, kv_width = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
    if shape.fused_projections:
        both = linear(tape, data, shape.hidden, q_width + 2 * kv_width, bias=shape.qkv_bias)
        whole = q_width + 2 * kv_width
        q, k, v = (tape.part(both, width / whole) for width in (q_width, kv_width, kv_width))
    else:
        q, k, v = (
            linear(tape, data, shape.hidden, width, bias=shape.qkv_bias) for width in (q_width, kv_width, kv_width)
        )
    if shape.qk_norm:
        q, k = (_norm(tape, shape, each, shape.head_width) for each in (q, k))
    if not shape.fused_projections:
        q, k = (tape.copied_back(each) for each in (q, k))
    rotated = round(shape.head_width * shape.rotary_share)
    q, k = (
        rotary(tape, each, tokens, rotated, shape.rotary_share, rejoined=shape.fused_projections) for each in (q, k)
    )
    if shape.scores_capped:
        mixed = _stored_attention(tape, q, k, v, shape.heads, shape.kv_heads, shape.head_width, tokens, capped=True)
    else:
        mixed = attention(tape, q, k, v, head_width=shape.head_width, keys=tokens)
    return linear(tape, tape.copy(mixed), q_width, shape.hidden, bias=shape.out_bias)


def _gated_mlp(tape: Tape, shape: LlamaLike, data: Value, inner: int) -> Value:
    """SwiGLU or GeGLU (Shazeer 2020)."""
    if shape.fused_projections:
        both = linear(tape, data, shape.hidden, 2 * inner, bias=False)
        gate, up = tape.split(both, 0.5, 0.5)
    else:
        gate, up = (linear(tape, data, shape.hidden, inner, bias=shape.mlp_bias) for _ in range(2))
    return linear(tape, tape.mul(tape.activation(gate), up), inner, shape.hidden, bias=shape.mlp_bias)


def _expert_layer(tape: Tape, shape: LlamaLike, data: Value, experts: Experts) -> Value:
    """Route, gather the chosen experts' tokens, three grouped products, weigh, and add back (Shazeer et al. 2017)."""
    routes = softmax(tape, linear(tape, data, shape.hidden, experts.number, bias=False))
    gathered = _gathered(tape, tape.half(data), experts.chosen)
    gate = expert_products(tape, gathered, shape.hidden, experts.inner, experts.number)
    up = expert_products(tape, gathered, shape.hidden, experts.inner, experts.number)
    out = expert_products(tape, tape.mul(tape.activation(gate), up), experts.inner, shape.hidden, experts.number)
    weighed = tape.mul(out, tape.part(routes, experts.chosen / experts.number))
    back = _added_back(tape, weighed, experts.chosen)
    if not experts.shared:
        return back
    return tape.add(back, _gated_mlp(tape, shape, data, experts.shared))


def _gathered(tape: Tape, data: Value, times: int) -> Value:
    count = data.count.scaled(times)
    moved = count.scaled(2 * data.size)
    tape.row("gather", data.size, moved)

    def backward() -> None:
        tape.row("gather", data.size, moved)
        tape.give(data, data.size)

    return tape.made(count, data.size, [data], backward)


def _added_back(tape: Tape, data: Value, times: int) -> Value:
    moved = data.count.scaled(3 * data.size)
    tape.row("gather", data.size, moved)

    def backward() -> None:
        tape.row("gather", data.size, data.count.scaled(2 * data.size))
        tape.give(data, data.size)

    return tape.made(data.count.scaled(1 / times), data.size, [data], backward)


def _stored_attention(
    tape: Tape,
    q: Value,
    k: Value,
    v: Value,
    heads: int,
    kv_heads: int,
    head_width: int,
    tokens: int,
    *,
    capped: bool = False,
) -> Value:
    """Attention with its scores written out: where a cap, or biases on the scores, rule fused attention out."""
    if kv_heads != heads:
        k, v = (_repeated_heads(tape, each, heads // kv_heads) for each in (k, v))
    count = Linear(0.0, float(heads * tokens * tokens))
    scores = tape.scale(matmul(tape, q, k, count, head_width))
    if capped:
        scores = tape.add(_capped(tape, scores), tape.constant(tokens * tokens))
    else:
        scores = tape.masked(tape.add(scores, tape.constant(heads * tokens)))
    shares = tape.half(softmax(tape, scores))
    return matmul(tape, shares, v, Linear(0.0, float(heads * tokens * head_width)), tokens)


def _capped(tape: Tape, scores: Value) -> Value:
    """c tanh(x / c), Gemma 2's bound."""
    return tape.scale(tape.activation(tape.scale(scores), keeps_result=True))


def _repeated_heads(tape: Tape, data: Value, times: int) -> Value:
    count = data.count.scaled(times)
    tape.row("copy", data.size, count.scaled(2 * data.size))

    def backward() -> None:
        tape.row("red", data.size, count.scaled(data.size))
        tape.give(data, data.size)

    return tape.made(count, data.size, [data], backward)


class GptLike(NamedTuple):
    """Dimensions and habits of a GPT-2, GPT-NeoX, OPT, Phi or MPT."""

    hidden: int
    inner: int
    layers: int
    heads: int
    vocabulary: int
    tied: bool
    positions: int = 0
    bias: bool = True
    head_bias: bool = False
    fused_qkv: bool = False
    activation: str = "gelu"
    dropout: float = 0.0
    embedding_dropout: float = 0.0
    parallel: bool = False
    one_norm: bool = False
    rotary_share: float = 0.0
    scores_stored: bool = False
    query_scaled: bool = False
    places_of_each: bool = False
    norm_after: bool = False
    embedding_width: int | None = None
    loss_in_single: bool = True


def gpt_like(tape: Tape, shape: GptLike, tokens: int) -> Value:
    """Next-token loss on sequences of ``tokens``."""
    ids = tape.given(tokens, LONG)
    looked_up = shape.embedding_width or shape.hidden
    data, table = embedding(tape, shape.vocabulary, looked_up, ids)
    if looked_up != shape.hidden:
        data = linear(tape, data, looked_up, shape.hidden, bias=False)
    if shape.positions:
        places, _ = embedding(tape, shape.positions, shape.hidden, _places(tape, shape, tokens))
        data = tape.add(data, places)
    data = tape.dropout(data, shape.embedding_dropout)
    with tape.repeated(shape.layers):
        data = _gpt_layer(tape, shape, data, tokens)
    if not shape.norm_after:
        data = layer_norm(tape, data, shape.hidden, bias=shape.bias)
    if looked_up != shape.hidden:
        data = linear(tape, data, shape.hidden, looked_up, bias=False)
    head = table if shape.tied else None
    scores = linear(tape, data, looked_up, shape.vocabulary, bias=shape.head_bias, weight=head)
    return cross_entropy(tape, scores, shape.vocabulary, in_single=shape.loss_in_single)


def _places(tape: Tape, shape: GptLike, tokens: int) -> Value:
    """Positions of the tokens: the same for all samples, or counted in each."""
    return tape.given(tokens, LONG) if shape.places_of_each else tape.constant(tokens, LONG)


def _gpt_layer(tape: Tape, shape: GptLike, data: Value, tokens: int) -> Value:
    def normed(value: Value) -> Value:
        return layer_norm(tape, value, shape.hidden, bias=shape.bias)

    if shape.parallel:
        before = normed(data)
        mixed = _gpt_attention(tape, shape, before, tokens)
        return tape.add(tape.add(mixed, _mlp(tape, shape, before if shape.one_norm else normed(data))), data)
    if shape.norm_after:
        data = normed(tape.add(data, _gpt_attention(tape, shape, data, tokens)))
        return normed(tape.add(data, _mlp(tape, shape, data)))
    data = tape.add(_gpt_attention(tape, shape, normed(data), tokens), data)
    return tape.add(_mlp(tape, shape, normed(data)), data)


def _gpt_attention(tape: Tape, shape: GptLike, data: Value, tokens: int) -> Value:
    hidden, head_width = shape.hidden, shape.hidden // shape.heads
    if shape.fused_qkv:
        both = linear(tape, data, hidden, 3 * hidden, bias=shape.bias)
        if shape.rotary_share:  # NeoX keeps a head's query, key and value together
            both = tape.copied_back(both)
        q, k, v = tape.split(both, 1 / 3, 1 / 3, 1 / 3)
    else:
        q, k, v = (linear(tape, data, hidden, hidden, bias=shape.bias) for _ in range(3))
    if shape.query_scaled:
        q = tape.scale(q)
    if shape.rotary_share:
        rotated = round(head_width * shape.rotary_share)
        q, k = (rotary(tape, each, tokens, rotated, shape.rotary_share) for each in (q, k))
    if shape.scores_stored:
        q, k, v = (tape.copied_back(tape.copy(each)) for each in (q, k, v))
        mixed = _stored_attention(tape, q, k, v, shape.heads, shape.heads, head_width, tokens)
    else:
        mixed = attention(tape, q, k, v, head_width=head_width, keys=tokens)
    return tape.dropout(linear(tape, tape.copy(mixed), hidden, hidden, bias=shape.bias), shape.dropout)


def _mlp(tape: Tape, shape: GptLike, data: Value) -> Value:
    inner = linear(tape, data, shape.hidden, shape.inner, bias=shape.bias)
    if shape.activation == "gelu_new":
        inner = gelu_in_parts(tape, inner)
    else:
        inner = tape.activation(inner, keeps_result=shape.activation == "relu")
    return tape.dropout(linear(tape, inner, shape.inner, shape.hidden, bias=shape.bias), shape.dropout)
