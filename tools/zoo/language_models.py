"""Published configurations of decoder and encoder families: widths, depths, heads and vocabularies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tools.zoo import recipes
from tools.zoo.language import causal_lm_spec, config, encoder_spec, seq2seq_spec
from tools.zoo.spec import Recipe, Spec

# name: hidden, inner, layers, heads, key-value heads, vocabulary, sequence length, tied embeddings
_LLAMA_LIKE: dict[str, tuple[int, int, int, int, int, int, int, bool]] = {
    "llama-7b": (4096, 11008, 32, 32, 32, 32000, 2048, False),
    "llama-13b": (5120, 13824, 40, 40, 40, 32000, 2048, False),
    "llama-30b": (6656, 17920, 60, 52, 52, 32000, 2048, False),
    "llama-65b": (8192, 22016, 80, 64, 64, 32000, 2048, False),
    "llama-2-7b": (4096, 11008, 32, 32, 32, 32000, 4096, False),
    "llama-2-13b": (5120, 13824, 40, 40, 40, 32000, 4096, False),
    "llama-2-70b": (8192, 28672, 80, 64, 8, 32000, 4096, False),
    "codellama-34b": (8192, 22016, 48, 64, 8, 32000, 4096, False),
    "tinyllama-1.1b": (2048, 5632, 22, 32, 4, 32000, 2048, False),
    "llama-3-8b": (4096, 14336, 32, 32, 8, 128256, 2048, False),
    "llama-3-70b": (8192, 28672, 80, 64, 8, 128256, 2048, False),
    "llama-3.1-405b": (16384, 53248, 126, 128, 8, 128256, 8192, False),
    "llama-3.2-1b": (2048, 8192, 16, 32, 8, 128256, 2048, True),
    "llama-3.2-3b": (3072, 8192, 28, 24, 8, 128256, 2048, True),
    "smollm2-135m": (576, 1536, 30, 9, 3, 49152, 2048, True),
    "smollm2-1.7b": (2048, 8192, 24, 32, 32, 49152, 2048, True),
    "deepseek-coder-1.3b": (2048, 5504, 24, 16, 16, 32256, 4096, False),
    "deepseek-coder-6.7b": (4096, 11008, 32, 32, 32, 32256, 4096, False),
    "deepseek-coder-33b": (7168, 19200, 62, 56, 8, 32256, 4096, False),
}
_LLAMA_SOURCES = {
    "llama-3-": ("Grattafiori et al. 2024, arXiv:2407.21783", recipes.LLAMA3),
    "llama-3.": ("Grattafiori et al. 2024, arXiv:2407.21783", recipes.LLAMA3),
    "llama-2": ("Touvron et al. 2023, arXiv:2307.09288", recipes.LLAMA1),
    "llama-": ("Touvron et al. 2023, arXiv:2302.13971", recipes.LLAMA1),
    "codellama": ("Roziere et al. 2023, arXiv:2308.12950", recipes.LLAMA1),
    "tinyllama": ("Zhang et al. 2024, arXiv:2401.02385", recipes.LLAMA1),
    "smollm2": ("Allal et al. 2025, arXiv:2502.02737", recipes.LLAMA1),
    "deepseek-coder": ("Guo et al. 2024, arXiv:2401.14196", recipes.LLAMA1),
}


def _llama_like() -> list[Spec]:
    specs = []
    for name, (hidden, inner, layers, heads, kv_heads, vocabulary, length, tied) in _LLAMA_LIKE.items():
        cited, recipe = next(source for prefix, source in _LLAMA_SOURCES.items() if name.startswith(prefix))
        fields = {
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "vocab_size": vocabulary,
            "head_dim": hidden // heads,
            "tie_word_embeddings": tied,
        }
        specs.append(causal_lm_spec(name, "llama", config("LlamaConfig", **fields), length, recipe, cited))
    return specs


def _gpt2_like() -> list[Spec]:
    """GPT-2, GPT-3 sizes, and MPT as llm-foundry's throughput tables ran it (learned positions, biases, no dropout)."""
    gpt2 = {
        "gpt2": (768, 12, 12),
        "gpt2-medium": (1024, 24, 16),
        "gpt2-large": (1280, 36, 20),
        "gpt2-xl": (1600, 48, 25),
    }
    gpt3 = {"gpt3-xl": (2048, 24, 16), "gpt3-2.7b": (2560, 32, 32), "gpt3-175b": (12288, 96, 96)}
    mpt = {
        "mpt-125m": (768, 12, 12),
        "mpt-350m": (1024, 24, 16),
        "mpt-760m": (1536, 24, 12),
        "mpt-1b": (2048, 24, 16),
        "mpt-3b": (2560, 32, 20),
        "mpt-7b": (4096, 32, 32),
        "mpt-13b": (5120, 40, 40),
        "mpt-30b": (7168, 48, 56),
        "mpt-70b": (8192, 80, 64),
    }
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    groups: list[tuple[dict[str, tuple[int, int, int]], str, int, Recipe, str, dict[str, Any]]] = [
        (gpt2, "gpt2", 1024, recipes.GPT2, "Radford et al. 2019", {}),
        (gpt3, "gpt3", 2048, recipes.GPT3, "Brown et al. 2020, arXiv:2005.14165", {}),
        (
            mpt,
            "mpt",
            2048,
            recipes.MPT,
            "MosaicML llm-foundry, scripts/train/benchmarking",
            {"vocab_size": 50368, "activation_function": "gelu", **no_dropout},
        ),
    ]
    return [
        causal_lm_spec(
            name,
            family,
            config("GPT2Config", n_embd=width, n_layer=layers, n_head=heads, n_positions=length, **fields),
            length,
            recipe,
            cited,
        )
        for sizes, family, length, recipe, cited, fields in groups
        for name, (width, layers, heads) in sizes.items()
    ]


# name: hidden, inner, layers, heads, key-value heads, head width, tied
_QWEN25 = {
    "qwen2.5-0.5b": (896, 4864, 24, 14, 2, 151936, True),
    "qwen2.5-1.5b": (1536, 8960, 28, 12, 2, 151936, True),
    "qwen2.5-3b": (2048, 11008, 36, 16, 2, 151936, True),
    "qwen2.5-7b": (3584, 18944, 28, 28, 4, 152064, False),
    "qwen2.5-14b": (5120, 13824, 48, 40, 8, 152064, False),
    "qwen2.5-32b": (5120, 27648, 64, 40, 8, 152064, False),
    "qwen2.5-72b": (8192, 29568, 80, 64, 8, 152064, False),
}
_QWEN3 = {
    "qwen3-0.6b": (1024, 3072, 28, 16, 8, 151936, True),
    "qwen3-1.7b": (2048, 6144, 28, 16, 8, 151936, True),
    "qwen3-4b": (2560, 9728, 36, 32, 8, 151936, True),
    "qwen3-8b": (4096, 12288, 36, 32, 8, 151936, False),
    "qwen3-14b": (5120, 17408, 40, 40, 8, 151936, False),
    "qwen3-32b": (5120, 25600, 64, 64, 8, 151936, False),
}


def _qwen() -> list[Spec]:
    specs = []
    for kind, sizes, cited in (
        ("Qwen2Config", _QWEN25, "Qwen team 2024, arXiv:2412.15115"),
        ("Qwen3Config", _QWEN3, "Qwen team 2025, arXiv:2505.09388"),
    ):
        for name, (hidden, inner, layers, heads, kv_heads, vocabulary, tied) in sizes.items():
            fields: dict[str, Any] = {
                "hidden_size": hidden,
                "intermediate_size": inner,
                "num_hidden_layers": layers,
                "num_attention_heads": heads,
                "num_key_value_heads": kv_heads,
                "vocab_size": vocabulary,
                "tie_word_embeddings": tied,
            }
            if kind == "Qwen3Config":
                fields["head_dim"] = 128
            specs.append(causal_lm_spec(name, "qwen", config(kind, **fields), 4096, recipes.LLAMA1, cited))
    return specs


def _mistral_gemma_phi() -> list[Spec]:
    mistral = {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
        "sliding_window": None,
    }
    nemo = {**mistral, "hidden_size": 5120, "num_hidden_layers": 40, "head_dim": 128, "vocab_size": 131072}
    small = {**nemo, "intermediate_size": 32768}
    gemma = {"vocab_size": 256000, "head_dim": 256}
    gemma_2b = {
        **gemma,
        "hidden_size": 2048,
        "intermediate_size": 16384,
        "num_hidden_layers": 18,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
    }
    gemma_7b = {
        **gemma,
        "hidden_size": 3072,
        "intermediate_size": 24576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
    }
    phi = {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "vocab_size": 51200,
    }
    phi_2 = {**phi, "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32}
    phi_3 = {
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32064,
    }
    rows: list[tuple[str, str, str, dict[str, Any], str]] = [
        ("mistral-7b", "mistral", "MistralConfig", mistral, "Jiang et al. 2023, arXiv:2310.06825"),
        ("mistral-nemo-12b", "mistral", "MistralConfig", nemo, "Mistral AI, Mistral-Nemo-Base-2407 model card"),
        ("mistral-small-24b", "mistral", "MistralConfig", small, "Mistral AI, Mistral-Small-24B-Base-2501 model card"),
        ("gemma-2b", "gemma", "GemmaConfig", gemma_2b, "Gemma team 2024, arXiv:2403.08295"),
        ("gemma-7b", "gemma", "GemmaConfig", gemma_7b, "Gemma team 2024, arXiv:2403.08295"),
        ("phi-1.5", "phi", "PhiConfig", phi, "Li et al. 2023, arXiv:2309.05463"),
        ("phi-2", "phi", "PhiConfig", phi_2, "Microsoft, phi-2 model card"),
        ("phi-3-mini", "phi", "Phi3Config", {**phi_3, "pad_token_id": None}, "Abdin et al. 2024, arXiv:2404.14219"),
    ]
    return [
        causal_lm_spec(name, family, config(kind, **fields), 2048, recipes.LLAMA1, cited)
        for name, family, kind, fields, cited in rows
    ]


def _opt_pythia_gptj() -> list[Spec]:
    opt = {
        "opt-125m": (768, 3072, 12, 12),
        "opt-1.3b": (2048, 8192, 24, 32),
        "opt-2.7b": (2560, 10240, 32, 32),
        "opt-6.7b": (4096, 16384, 32, 32),
        "opt-13b": (5120, 20480, 40, 40),
        "opt-30b": (7168, 28672, 48, 56),
        "opt-66b": (9216, 36864, 64, 72),
    }
    neox = {
        "pythia-70m": (512, 6, 8, 50304),
        "pythia-160m": (768, 12, 12, 50304),
        "pythia-410m": (1024, 24, 16, 50304),
        "pythia-1b": (2048, 16, 8, 50304),
        "pythia-1.4b": (2048, 24, 16, 50304),
        "pythia-2.8b": (2560, 32, 32, 50304),
        "pythia-6.9b": (4096, 32, 32, 50432),
        "pythia-12b": (5120, 36, 40, 50688),
        "gpt-neox-20b": (6144, 44, 64, 50432),
        "stablelm-base-alpha-3b": (4096, 16, 32, 50688),
    }
    specs = [
        causal_lm_spec(
            name,
            "opt",
            config(
                "OPTConfig",
                hidden_size=hidden,
                ffn_dim=inner,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                word_embed_proj_dim=hidden,
            ),
            2048,
            recipes.GPT3,
            "Zhang et al. 2022, arXiv:2205.01068",
        )
        for name, (hidden, inner, layers, heads) in opt.items()
    ]
    specs += [
        causal_lm_spec(
            name,
            "gpt-neox",
            config(
                "GPTNeoXConfig",
                hidden_size=hidden,
                intermediate_size=4 * hidden,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                vocab_size=vocabulary,
            ),
            4096 if "stablelm" in name else 2048,
            recipes.PYTHIA,
            "Biderman et al. 2023, arXiv:2304.01373",
        )
        for name, (hidden, layers, heads, vocabulary) in neox.items()
    ]
    gpt_j = config("GPTJConfig", n_embd=4096, n_layer=28, n_head=16, vocab_size=50400)
    specs.append(
        causal_lm_spec("gpt-j-6b", "gpt-j", gpt_j, 2048, recipes.PYTHIA, "Wang & Komatsuzaki 2021, GPT-J model card")
    )
    return specs


def _encoders() -> list[Spec]:
    large = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    rows: list[tuple[str, str, Callable[[], Any], str]] = [
        ("distilbert-base", "bert", config("DistilBertConfig"), "Sanh et al. 2019, arXiv:1910.01108"),
        ("roberta-base", "roberta", _roberta(), "Liu et al. 2019, arXiv:1907.11692"),
        ("roberta-large", "roberta", _roberta(**large), "Liu et al. 2019, arXiv:1907.11692"),
        (
            "electra-base",
            "electra",
            config(
                "ElectraConfig", embedding_size=768, hidden_size=768, num_attention_heads=12, intermediate_size=3072
            ),
            "Clark et al. 2020, arXiv:2003.10555",
        ),
        (
            "albert-base-v2",
            "albert",
            config("AlbertConfig", hidden_size=768, num_attention_heads=12, intermediate_size=3072),
            "Lan et al. 2020, arXiv:1909.11942",
        ),
        ("deberta-v3-base", "deberta", _deberta(), "He et al. 2021, arXiv:2111.09543"),
        ("deberta-v3-large", "deberta", _deberta(**large), "He et al. 2021, arXiv:2111.09543"),
    ]
    return [
        encoder_spec(
            name,
            family,
            make,
            128,
            recipes.BERT_GLUE,
            cited,
            "SequenceClassification",
            "eager" if family == "deberta" else "sdpa",
        )
        for name, family, make, cited in rows
    ]


def _roberta(**fields: Any) -> Callable[[], Any]:
    return config("RobertaConfig", vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, **fields)


def _deberta(**fields: Any) -> Callable[[], Any]:
    return config(
        "DebertaV2Config",
        vocab_size=128100,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        max_relative_positions=-1,
        layer_norm_eps=1e-7,
        pad_token_id=None,  # with one, the library asks the data whether there is padding
        **{"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, **fields},
    )


def _text_to_text() -> list[Spec]:
    t5 = "Raffel et al. 2020, arXiv:1910.10683"
    sizes = {
        "t5-small": (512, 2048, 6, 8, 64),
        "t5-base": (768, 3072, 12, 12, 64),
        "t5-large": (1024, 4096, 24, 16, 64),
        "t5-3b": (1024, 16384, 24, 32, 128),
        "t5-11b": (1024, 65536, 24, 128, 128),
    }
    specs = [
        seq2seq_spec(
            name,
            "t5",
            config(
                "T5Config", d_model=width, d_ff=inner, num_layers=layers, num_heads=heads, d_kv=head, vocab_size=32128
            ),
            (512, 114),
            recipes.T5,
            t5,
        )
        for name, (width, inner, layers, heads, head) in sizes.items()
    ]
    bart = "Lewis et al. 2019, arXiv:1910.13461"
    base = {
        "d_model": 768,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 12,
        "decoder_attention_heads": 12,
        "encoder_ffn_dim": 3072,
        "decoder_ffn_dim": 3072,
    }
    big = {
        "vocab_size": 33712,
        "d_model": 1024,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 16,
        "decoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096,
    }
    translation = (
        "Vaswani et al. 2017, arXiv:1706.03762, and NVIDIA DeepLearningExamples PyTorch/Translation/Transformer"
    )
    specs += [
        replace(
            seq2seq_spec(
                "transformer-big",
                "transformer",
                config("BartConfig", **big),
                (30, 30),
                recipes.TRANSFORMER,
                translation,
            ),
            batches=(256, 512),  # sentences are short: thousands of tokens are hundreds of pairs
        ),
        seq2seq_spec("bart-base", "bart", config("BartConfig", **base), (1024, 128), recipes.BART, bart),
        seq2seq_spec("bart-large", "bart", config("BartConfig"), (1024, 128), recipes.BART, bart),
    ]
    return specs


def specs() -> list[Spec]:
    return [
        *_llama_like(),
        *_gpt2_like(),
        *_qwen(),
        *_mistral_gemma_phi(),
        *_opt_pythia_gptj(),
        *_encoders(),
        *_text_to_text(),
    ]
