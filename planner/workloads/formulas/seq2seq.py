"""Encoder and decoder: T5 and Whisper. Every decoder layer attends to what the encoder made of the source."""

from typing import NamedTuple

from planner.workloads.formulas.layers import (
    attention,
    convolution,
    cross_entropy,
    embedding,
    gelu_in_parts,
    layer_norm,
    linear,
    look_up,
    rms_norm,
)
from planner.workloads.formulas.tape import LONG, Tape, Value


class T5(NamedTuple):
    """Dimensions of a T5; ``gated`` is version 1.1's MLP."""

    hidden: int
    inner: int
    head_width: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    buckets: int
    vocabulary: int
    dropout: float
    gated: bool
    tied: bool
    scaled_output: bool


def t5(tape: Tape, shape: T5, source: int, target: int) -> Value:
    """The loss on ``target`` tokens from ``source`` tokens."""
    ids, labels = tape.given(source, LONG), tape.given(target, LONG)
    looked_up, table = embedding(tape, shape.vocabulary, shape.hidden, ids)
    memory = tape.dropout(looked_up, shape.dropout)
    _position_biases(tape, shape)
    with tape.repeated(shape.encoder_layers):
        memory = _t5_attention(tape, shape, memory, None, source)
        memory = _t5_mlp(tape, shape, memory)
    memory = tape.dropout(rms_norm(tape, memory, shape.hidden), shape.dropout)
    data = tape.dropout(look_up(tape, table, shape.hidden, labels), shape.dropout)
    _position_biases(tape, shape)
    with tape.repeated(shape.decoder_layers):
        data = _t5_attention(tape, shape, data, None, target)
        data = _t5_attention(tape, shape, data, memory, source)
        data = _t5_mlp(tape, shape, data)
    data = tape.dropout(rms_norm(tape, data, shape.hidden), shape.dropout)
    if shape.scaled_output:
        data = tape.scale(data)
    head = table if shape.tied else None
    scores = linear(tape, data, shape.hidden, shape.vocabulary, bias=False, weight=head)
    return cross_entropy(tape, scores, shape.vocabulary)


def _position_biases(tape: Tape, shape: T5) -> None:
    """The first layer's table of relative positions, shared by all; the same for every sample."""
    tape.weight(shape.buckets, shape.heads)
    tape.embedding_parameters += shape.buckets * shape.heads


def _t5_attention(tape: Tape, shape: T5, data: Value, memory: Value | None, keys: int) -> Value:
    """Self-attention, or attention to ``memory``, with its norm and residual."""
    width = shape.heads * shape.head_width
    normed = rms_norm(tape, data, shape.hidden)
    looked_at = normed if memory is None else memory
    q = linear(tape, normed, shape.hidden, width, bias=False)
    k, v = (linear(tape, looked_at, shape.hidden, width, bias=False) for _ in range(2))
    mixed = attention(tape, q, k, v, head_width=shape.head_width, keys=keys)
    out = linear(tape, tape.copy(mixed), width, shape.hidden, bias=False)
    return tape.add(tape.dropout(out, shape.dropout), data)


def _t5_mlp(tape: Tape, shape: T5, data: Value) -> Value:
    normed = rms_norm(tape, data, shape.hidden)
    inner = linear(tape, normed, shape.hidden, shape.inner, bias=False)
    if shape.gated:
        inner = tape.mul(gelu_in_parts(tape, inner), linear(tape, normed, shape.hidden, shape.inner, bias=False))
    else:
        inner = tape.activation(inner, keeps_result=True)
    inner = tape.single(tape.dropout(inner, shape.dropout))  # the library keeps this product's weights in fp32
    out = linear(tape, inner, shape.inner, shape.hidden, bias=False)
    return tape.add(tape.dropout(out, shape.dropout), data)


class Whisper(NamedTuple):
    """Dimensions of a Whisper; ``frames`` is the encoder's length, half as many as spectra (3,000 in 30 s)."""

    hidden: int
    encoder_inner: int
    decoder_inner: int
    encoder_layers: int
    decoder_layers: int
    encoder_heads: int
    decoder_heads: int
    mel_bins: int
    frames: int
    positions: int
    vocabulary: int
    dropout: float


def whisper(tape: Tape, shape: Whisper, target: int) -> Value:
    """The loss on ``target`` tokens of a transcript."""
    hidden = shape.hidden
    spectra = tape.given(shape.mel_bins * 2 * shape.frames)
    memory = tape.activation(convolution(tape, spectra, (shape.mel_bins, hidden), (3,), 2 * shape.frames, strides=(1,)))
    memory = tape.activation(convolution(tape, memory, (hidden, hidden), (3,), shape.frames, strides=(2,)))
    places, _ = embedding(tape, shape.frames, hidden, tape.constant(shape.frames, LONG), trained=False)
    memory = tape.dropout(tape.add(memory, places), shape.dropout)
    with tape.repeated(shape.encoder_layers):
        memory = _whisper_attention(tape, shape, memory, None, shape.encoder_heads, shape.frames)
        memory = _whisper_mlp(tape, shape, memory, shape.encoder_inner)
    memory = layer_norm(tape, memory, hidden)
    labels = tape.given(target, LONG)
    data, table = embedding(tape, shape.vocabulary, hidden, labels)
    positions, _ = embedding(tape, shape.positions, hidden, labels)
    data = tape.dropout(tape.add(data, positions), shape.dropout)
    with tape.repeated(shape.decoder_layers):
        data = _whisper_attention(tape, shape, data, None, shape.decoder_heads, target)
        data = _whisper_attention(tape, shape, data, memory, shape.decoder_heads, shape.frames)
        data = _whisper_mlp(tape, shape, data, shape.decoder_inner)
    data = layer_norm(tape, data, hidden)
    scores = linear(tape, data, hidden, shape.vocabulary, bias=False, weight=table)
    return cross_entropy(tape, scores, shape.vocabulary)


def _whisper_attention(tape: Tape, shape: Whisper, data: Value, memory: Value | None, heads: int, keys: int) -> Value:
    """Self-attention, or attention to ``memory``, with its norm and residual; keys have no bias."""
    hidden = shape.hidden
    normed = layer_norm(tape, data, hidden)
    looked_at = normed if memory is None else memory
    q = tape.scale(linear(tape, normed, hidden, hidden))
    k = linear(tape, looked_at, hidden, hidden, bias=False)
    v = linear(tape, looked_at, hidden, hidden)
    q, k, v = (tape.copied_back(tape.copy(each)) for each in (q, k, v))
    mixed = attention(tape, q, k, v, head_width=hidden / heads, keys=keys)
    out = linear(tape, tape.copy(mixed), hidden, hidden)
    return tape.add(data, tape.dropout(out, shape.dropout))


def _whisper_mlp(tape: Tape, shape: Whisper, data: Value, inner: int) -> Value:
    out = tape.activation(linear(tape, layer_norm(tape, data, shape.hidden), shape.hidden, inner))
    return tape.add(data, tape.dropout(linear(tape, out, inner, shape.hidden), shape.dropout))
