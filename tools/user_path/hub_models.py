"""Networks of the zoo as somebody's own file makes them with transformers: no weights, no network."""

from __future__ import annotations

from typing import Any

import transformers


def _causal(config: Any) -> Any:
    return transformers.AutoModelForCausalLM.from_config(config)


def gpt2() -> Any:
    return _causal(transformers.GPT2Config())


def llama_3_2_1b() -> Any:
    return _causal(
        transformers.LlamaConfig(
            hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
            num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=True,
        )
    )  # fmt: skip


def qwen2_5_0_5b() -> Any:
    return _causal(
        transformers.Qwen2Config(
            hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
            num_key_value_heads=2, vocab_size=151936, tie_word_embeddings=True,
        )
    )  # fmt: skip


def opt_125m() -> Any:
    return _causal(transformers.OPTConfig())


def pythia_160m() -> Any:
    return _causal(
        transformers.GPTNeoXConfig(
            hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, vocab_size=50304
        )
    )


def roberta_base() -> Any:
    config = transformers.RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1)
    return transformers.AutoModelForSequenceClassification.from_config(config)


def distilbert_base() -> Any:
    return transformers.AutoModelForSequenceClassification.from_config(transformers.DistilBertConfig())


def t5_small() -> Any:
    return transformers.AutoModelForSeq2SeqLM.from_config(transformers.T5Config(vocab_size=32128))
