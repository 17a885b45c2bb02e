"""Recipe batch per GPU, largest useful global batch, optimizer and data set, by family, each with its source."""

from __future__ import annotations

from tools.zoo.spec import Recipe

IMAGENET_SGD = Recipe(
    "imagenet", 256, 8192, "sgd", "He et al. 2016 (256 per step); Goyal et al. 2017, arXiv:1706.02677 (up to 8,192)"
)
VGG = Recipe("imagenet", 256, 8192, "sgd", "Simonyan & Zisserman 2015 (256 per step); large batch as Goyal et al. 2017")
ALEXNET = Recipe(
    "imagenet",
    128,
    8192,
    "sgd",
    "Krizhevsky et al. 2012 (128 per step); You et al. 2017, arXiv:1708.03888 (8,192 with LARS)",
)
INCEPTION = Recipe(
    "imagenet",
    32,
    8192,
    "rmsprop",
    "Szegedy et al. 2016, arXiv:1512.00567 (32 per worker); large batch as Goyal et al. 2017",
)
MOBILE = Recipe(
    "imagenet",
    96,
    8192,
    "rmsprop",
    "Sandler et al. 2018, arXiv:1801.04381 (96 per GPU); large batch as Goyal et al. 2017",
)
EFFICIENTNET = Recipe(
    "imagenet",
    128,
    32768,
    "rmsprop",
    "Tan & Le 2019, arXiv:1905.11946 (4,096 on TPU); Wongpanich et al. 2020, arXiv:2011.00071 (32,768)",
)
VIT = Recipe(
    "imagenet",
    128,
    4096,
    "adamw",
    "Touvron et al. 2021, arXiv:2012.12877 (8 x 128); Dosovitskiy et al. 2021, arXiv:2010.11929 (4,096)",
)
SWIN = Recipe("imagenet", 128, 4096, "adamw", "Liu et al. 2021, arXiv:2103.14030 (1,024 on 8 GPUs); as ViT 4,096")
CONVNEXT = Recipe("imagenet", 128, 4096, "adamw", "Liu et al. 2022, arXiv:2201.03545 (4,096; 128 per GPU)")

BERT_FINETUNE = Recipe(
    "squad", 32, 32, "adamw", "Devlin et al. 2019, arXiv:1810.04805 (fine-tuning in steps of 16 or 32)"
)
BERT_SQUAD = Recipe(
    "squad", 32, 256, "adam", "NVIDIA DeepLearningExamples PyTorch/LanguageModeling/BERT (32 per GPU on 8 GPUs)"
)
BERT_PRETRAIN = Recipe(
    "wikipedia-bookcorpus",
    32,
    65536,
    "lamb",
    "Devlin et al. 2019 (256 x 512); You et al. 2020, arXiv:1904.00962 (65,536 at 128 tokens, 32,768 at 512)",
)
GPT2 = Recipe("openwebtext", 12, 480, "adamw", "karpathy/nanoGPT config/train_gpt2.py (12 per GPU x 5 steps x 8 GPUs)")
LLAMA1 = Recipe(
    "slimpajama",
    4,
    2048,
    "adamw",
    "Lightning-AI/litgpt config_hub/pretrain/tinyllama.yaml (4 per GPU); "
    "Touvron et al. 2023, arXiv:2302.13971 (4M tokens a step)",
)
LLAMA3 = Recipe(
    "fineweb-10b",
    2,
    2048,
    "adamw",
    "pytorch/torchtune recipes/configs/llama3/8B_full.yaml (2 per GPU); "
    "Grattafiori et al. 2024, arXiv:2407.21783 (4M tokens a step at first)",
)
T5 = Recipe(
    "c4",
    8,
    128,
    "adafactor",
    "transformers run_t5_mlm_flax.py as pytorch/benchmark hf_T5 runs it (8 per device); "
    "Raffel et al. 2020, arXiv:1910.10683 (128 sequences of 512 tokens)",
)
GPT3 = Recipe(
    "pile",
    4,
    1536,
    "adamw",
    "mosaicml/llm-foundry mpt-1b.yaml, GPT-3 XL's size (4 per GPU); "
    "Brown et al. 2020, arXiv:2005.14165 (1M to 3.2M tokens a step)",
)
MPT = Recipe(
    "c4",
    4,
    2048,
    "adamw",
    "mosaicml/llm-foundry mpt-1b.yaml (4 per GPU) and scripts/train/benchmarking (4M tokens a step at most)",
)
PYTHIA = Recipe(
    "pile",
    4,
    1024,
    "adamw",
    "EleutherAI/pythia models/6.9B (8 on 2 GPUs); Biderman et al. 2023, arXiv:2304.01373 (1,024 of 2,048 tokens)",
)
BERT_GLUE = Recipe("glue", 32, 32, "adamw", "Devlin et al. 2019, arXiv:1810.04805 (fine-tuning in steps of 16 or 32)")
BART = Recipe(
    "cnn-dailymail",
    2,
    64,
    "adamw",
    "facebookresearch/fairseq examples/bart/README.summarization.md (2,048 tokens x 4 steps x 8 GPUs)",
)
MOE = Recipe(
    "slimpajama",
    1,
    15360,
    "adamw",
    "NVIDIA/Megatron-LM examples/mixtral (1 per GPU); "
    "DeepSeek-AI 2024, arXiv:2412.19437 (15,360 sequences of 4,096 tokens at most)",
)
TRANSFORMER = Recipe(
    "wmt14-en-de",
    170,
    16384,
    "adam",
    "NVIDIA DeepLearningExamples PyTorch/Translation/Transformer (5,120 tokens a GPU); Ott et al. 2018",
)
