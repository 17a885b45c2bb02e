"""Encoders: BERT and RoBERTa with the heads people train, and the vision transformer."""

from typing import NamedTuple

from planner.workloads.formulas.layers import (
    attention,
    convolution,
    cross_entropy,
    embedding,
    first_token,
    layer_norm,
    linear,
)
from planner.workloads.formulas.tape import LONG, Tape, Value


class Encoder(NamedTuple):
    """Dimensions of a transformer encoder with biases."""

    hidden: int
    inner: int
    layers: int
    heads: int
    dropout: float = 0.0
    qkv_bias: bool = True


class BertLike(NamedTuple):
    """``head`` is masked_lm, pretraining, sequence, token or question; RoBERTa has its own classification head."""

    encoder: Encoder
    vocabulary: int
    positions: int
    types: int
    head: str = "masked_lm"
    labels: int = 2
    roberta: bool = False


def bert_like(tape: Tape, shape: BertLike, tokens: int) -> Value:
    """The loss of the head on sequences of ``tokens``."""
    hidden, dropout = shape.encoder.hidden, shape.encoder.dropout
    ids = tape.given(tokens, LONG)
    data, table = embedding(tape, shape.vocabulary, hidden, ids)
    if shape.types:
        kinds, _ = embedding(tape, shape.types, hidden, ids)
        data = tape.add(data, kinds)
    places = tape.given(tokens, LONG) if shape.roberta else tape.constant(tokens, LONG)
    positions, _ = embedding(tape, shape.positions, hidden, places)
    data = tape.dropout(layer_norm(tape, tape.add(data, positions), hidden), dropout)
    with tape.repeated(shape.encoder.layers):
        data = _layer_normed_after(tape, shape.encoder, data, tokens)
    return _bert_loss(tape, shape, data, table, tokens)


def _layer_normed_after(tape: Tape, shape: Encoder, data: Value, tokens: int) -> Value:
    mixed = tape.dropout(self_attention(tape, shape, data, tokens), shape.dropout)
    data = layer_norm(tape, tape.add(mixed, data), shape.hidden)
    out = tape.dropout(mlp(tape, shape, data), shape.dropout)
    return layer_norm(tape, tape.add(out, data), shape.hidden)


def self_attention(tape: Tape, shape: Encoder, data: Value, tokens: float) -> Value:
    q, k, v = (linear(tape, data, shape.hidden, shape.hidden, bias=shape.qkv_bias) for _ in range(3))
    mixed = attention(tape, q, k, v, head_width=shape.hidden / shape.heads, keys=tokens)
    return linear(tape, tape.copy(mixed), shape.hidden, shape.hidden)


def mlp(tape: Tape, shape: Encoder, data: Value) -> Value:
    inner = tape.activation(linear(tape, data, shape.hidden, shape.inner))
    return linear(tape, inner, shape.inner, shape.hidden)


def _bert_loss(tape: Tape, shape: BertLike, data: Value, table: Value, tokens: int) -> Value:
    hidden, dropout = shape.encoder.hidden, shape.encoder.dropout
    if shape.head == "question":
        ends = linear(tape, data, hidden, 2)
        return cross_entropy(tape, ends, tokens)
    if shape.head == "token":
        scores = linear(tape, tape.dropout(data, dropout), hidden, shape.labels)
        return cross_entropy(tape, scores, shape.labels)
    if shape.head == "sequence":
        pooled = first_token(tape, data, tokens)
        if shape.roberta:
            pooled = tape.dropout(pooled, dropout)
        pooled = tape.activation(linear(tape, pooled, hidden, hidden), keeps_result=True)
        scores = linear(tape, tape.dropout(pooled, dropout), hidden, shape.labels)
        return cross_entropy(tape, scores, shape.labels)
    if shape.head == "pretraining":
        pooled = tape.activation(linear(tape, first_token(tape, data, tokens), hidden, hidden), keeps_result=True)
        following = cross_entropy(tape, linear(tape, pooled, hidden, 2), 2)
        return tape.add(_word_loss(tape, shape, data, table), following)
    return _word_loss(tape, shape, data, table)


def _word_loss(tape: Tape, shape: BertLike, data: Value, table: Value) -> Value:
    """Cross entropy over the vocabulary at every position, as transformers computes it for masked words."""
    hidden = shape.encoder.hidden
    transformed = layer_norm(tape, tape.activation(linear(tape, data, hidden, hidden)), hidden)
    scores = linear(tape, transformed, hidden, shape.vocabulary, weight=table)
    return cross_entropy(tape, scores, shape.vocabulary)


class VisionTransformer(NamedTuple):
    """Square images of ``image_size`` pixels cut into patches, and a class token (Dosovitskiy et al. 2021)."""

    encoder: Encoder
    image_size: int
    patch_size: int
    channels: int
    labels: int


def vision_transformer(tape: Tape, shape: VisionTransformer) -> Value:
    """Cross entropy over ``labels`` classes."""
    encoder = shape.encoder
    patches = (shape.image_size // shape.patch_size) ** 2
    pixels = tape.given(shape.channels * shape.image_size**2)
    window = (shape.patch_size, shape.patch_size)
    data = convolution(tape, pixels, (shape.channels, encoder.hidden), window, patches, strides=window)
    data = tape.cat(tape.expanded(tape.weight(encoder.hidden)), data)
    data = tape.add(data, tape.weight(patches + 1, encoder.hidden))
    with tape.repeated(encoder.layers):
        data = layer_normed_before(tape, encoder, data, patches + 1)
    data = layer_norm(tape, data, encoder.hidden)
    scores = linear(tape, first_token(tape, data, patches + 1), encoder.hidden, shape.labels)
    return cross_entropy(tape, scores, shape.labels)


def layer_normed_before(tape: Tape, shape: Encoder, data: Value, tokens: float) -> Value:
    data = tape.add(self_attention(tape, shape, layer_norm(tape, data, shape.hidden), tokens), data)
    return tape.add(mlp(tape, shape, layer_norm(tape, data, shape.hidden)), data)
