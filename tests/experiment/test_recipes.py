"""Training configurations of six tools: what is taken, what is left aside, and files that are broken or hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.experiment.recipes.read import TrainingConfig, completed, read_training_config
from planner.experiment.recipes.safe_yaml import load_yaml
from planner.experiment.resolve import ExperimentRequest, resolve_experiment

CONFIGS = Path(__file__).parent / "configs"


def read(name: str) -> TrainingConfig:
    return read_training_config(str(CONFIGS / name))


def written(folder: Path, name: str, text: str) -> TrainingConfig:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_training_config(str(path))


def test_hugging_face_training_arguments() -> None:
    config = read("training_arguments.json")
    assert config.tool == "Hugging Face TrainingArguments"
    assert config.values == {
        "model": "gpt2", "batch_size_per_gpu": 4, "grad_accum_steps": 8, "epochs": 3.0, "precision": "bf16",
        "optimizer": "adamw", "grad_checkpointing": True, "zero_stage": 3, "workers": 4, "compiled": False,
        "seq_length": 512,
    }  # fmt: skip
    assert config.left_aside == ("neftune_noise_alpha",)


def test_axolotl() -> None:
    config = read("axolotl.yml")
    assert config.tool == "axolotl"
    assert config.values == {
        "model": "meta-llama/Llama-3.2-1B", "lora_rank": 32, "seq_length": 2048, "batch_size_per_gpu": 2,
        "grad_accum_steps": 4, "epochs": 3.0, "optimizer": "adamw8bit", "precision": "amp",
        "grad_checkpointing": True, "zero_stage": 2, "four_bit_weights": True, "offload": "optimizer",
        "dataset": "alpaca",
    }  # fmt: skip
    assert config.left_aside == ()
    assert resolved(config).dataset.name == "alpaca"
    assert resolved(config, samples=100.0).samples_per_epoch == 100


def test_timm_args() -> None:
    config = read("timm_args.yaml")
    assert config.tool == "timm args.yaml"
    assert config.values == {
        "model": "resnet50", "batch_size_per_gpu": 192, "epochs": 300.0, "optimizer": "lamb", "precision": "bf16",
        "channels_last": True, "grad_accum_steps": 1, "workers": 8, "compiled": True,
    }  # fmt: skip
    assert config.left_aside == ("model_ema", "aug_repeats")


def test_lightning() -> None:
    config = read("lightning.yaml")
    assert config.values == {
        "zero_stage": 2, "precision": "bf16", "epochs": 20.0, "grad_accum_steps": 2, "batch_size_per_gpu": 64,
        "workers": 6, "optimizer": "adamw",
    }  # fmt: skip
    assert config.left_aside == (
        "limit_train_batches",
        "model: my_project.models.Classifier (gpuplanner trace my_project.models:Classifier)",
    )
    assert any("4 (--gpus)" in line for line in config.said)
    assert any("2 nodes (--num-nodes)" in line for line in config.said)


def test_torchtune() -> None:
    config = read("torchtune.yaml")
    assert config.values == {
        "model": "llama3_1_8b", "lora_rank": 8, "seq_length": 4096, "batch_size_per_gpu": 2, "epochs": 1.0,
        "grad_accum_steps": 8, "optimizer": "adamw", "precision": "bf16-pure", "grad_checkpointing": True,
        "compiled": False,
    }  # fmt: skip
    assert config.left_aside == ("dataset: alpaca_cleaned",)
    assert resolved(config, samples=52_000.0).workload.name.startswith("llama-3-8b")


def test_torchtitan() -> None:
    config = read("torchtitan.toml")
    assert config.values == {
        "model": "llama3-8B", "optimizer": "adamw", "batch_size_per_gpu": 1, "seq_length": 8192, "steps": 1000.0,
        "grad_checkpointing": True, "compiled": True, "zero_stage": 3, "tensor_parallel": 2, "dataset": "c4",
    }  # fmt: skip
    assert config.left_aside == (
        "activation_checkpoint mode: selective, planned as full", "float8"
    )  # fmt: skip


def resolved(config: TrainingConfig, **said: Any) -> Any:
    return resolve_experiment(completed(ExperimentRequest(model="", **said), config))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("training_arguments.json", {"samples": 1e4}),
        ("axolotl.yml", {"samples": 52e3}),
        ("timm_args.yaml", {}),
        ("torchtune.yaml", {"samples": 1e4}),
        ("torchtitan.toml", {}),
    ],
)
def test_each_becomes_an_experiment_that_says_where_it_is_from(name: str, said: dict[str, Any]) -> None:
    experiment = resolved(read(name), **said)
    assert experiment.assumptions[0].startswith(f"from {name} (")
    left_aside = [line for line in experiment.assumptions if line.startswith(f"not understood in {name}")]
    assert len(left_aside) == bool(read(name).left_aside)


AXOLOTL = "base_model: gpt2\nmicro_batch_size: 1\nnum_epochs: 3\n"


@pytest.mark.parametrize(
    ("name", "text", "known", "unknown"),
    [
        ("a.yml", f"{AXOLOTL}datasets: [{{path: databricks/databricks-dolly-15k}}]", "dolly-15k", ()),
        ("a.yml", f"{AXOLOTL}datasets: [{{path: me/mine}}]", None, ("me/mine",)),
        ("a.yml", f"{AXOLOTL}datasets: [{{path: tatsu-lab/alpaca}}, {{path: me/mine}}]", None,
         ("tatsu-lab/alpaca", "me/mine")),
        ("a.json", '{"per_device_train_batch_size": 1, "num_train_epochs": 1, "dataset_name": "squad"}', "squad", ()),
        ("a.yaml", "model: resnet50\nbatch_size: 1\nopt: sgd\nsched: cosine\ndataset: torch/cifar10", "cifar10", ()),
        ("a.yaml", "model: resnet50\nbatch_size: 1\nopt: sgd\nsched: cosine\ndataset: image_folder", None, ()),
    ],
)  # fmt: skip
def test_the_data_set_is_the_configurations_or_asked_for(
    tmp_path: Path, name: str, text: str, known: str | None, unknown: tuple[str, ...]
) -> None:
    config = written(tmp_path, name, text)
    assert config.values.get("dataset") == known
    assert config.unknown_data == unknown
    said = ExperimentRequest(model="gpt2")
    if unknown:
        with pytest.raises(InputError, match=f"trains on {', '.join(unknown)}, which is not known here"):
            completed(said, config)
        for amount in ({"dataset": "alpaca"}, {"samples": 10.0}, {"tokens": 1e6}, {"steps": 5.0}):
            assert completed(said._replace(**amount), config).model == "gpt2"


def test_what_the_user_says_counts_before_the_file() -> None:
    request = completed(ExperimentRequest(model="gpt2-xl", batch_size_per_gpu=1), read("training_arguments.json"))
    assert (request.model, request.batch_size_per_gpu, request.grad_accum_steps) == ("gpt2-xl", 1, 8)
    shorter = completed(ExperimentRequest(model="", steps=100.0), read("training_arguments.json"))
    assert (shorter.epochs, shorter.steps) == (None, 100.0)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_steps": 500}, {"steps": 500.0}),
        ({"bf16": False, "fp16": False}, {"precision": "fp32", "epochs": 1.0}),
        ({"fp16": True}, {"precision": "fp16", "epochs": 1.0}),
        ({"tf32": True}, {"precision": "tf32", "epochs": 1.0}),
        ({"fsdp": ["shard_grad_op", "auto_wrap"]}, {"zero_stage": 2, "epochs": 1.0}),
        ({"fsdp": "full_shard offload"}, {"zero_stage": 3, "offload": "all", "epochs": 1.0}),
        ({"fsdp": ""}, {"epochs": 1.0}),
        ({"use_peft": False, "lora_r": 8}, {"epochs": 1.0}),
        ({"use_peft": True, "lora_r": 8}, {"lora_rank": 8, "epochs": 1.0}),
        ({"optim": "adafactor"}, {"optimizer": "adafactor", "epochs": 1.0}),
        ({"optim": "adamw_bnb_8bit"}, {"optimizer": "adamw8bit", "epochs": 1.0}),
        ({"deepspeed": {"zero_optimization": {"stage": 3}}}, {"zero_stage": 3, "epochs": 1.0}),
        (
            {"deepspeed": {"zero_optimization": {"stage": 2, "cpu_offload": True}}},
            {"zero_stage": 2, "offload": "optimizer", "epochs": 1.0},
        ),
    ],
)
def test_fields_that_need_a_rule(tmp_path: Path, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    config = written(tmp_path, "args.json", json.dumps({"num_train_epochs": 1, **fields}))
    assert config.values == expected


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"optim": "lion_32bit"}, "optim: lion_32bit"),
        ({"deepspeed": "elsewhere.json"}, "deepspeed: elsewhere.json, which is not beside it"),
        (
            {"deepspeed": {"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}},
            "deepspeed: offload_param to nvme",
        ),
        ({"fsdp": "something_new"}, "fsdp: something_new"),
        ({"load_best_model_at_end": True}, "load_best_model_at_end"),
    ],
)
def test_what_is_not_understood_is_left_aside_and_told(tmp_path: Path, fields: dict[str, Any], left: str) -> None:
    config = written(tmp_path, "args.json", json.dumps({"num_train_epochs": 1, **fields}))
    assert config.left_aside == (left,)
    assert config.said[-1] == f"not understood in args.json and left aside: {left}"


AXOLOTL = "base_model: gpt2\nmicro_batch_size: 1\n"
TIMM = "model: resnet50\nbatch_size: 1\nopt: sgd\nsched: cosine\n"
TUNE = "model: {_component_: torchtune.models.gemma.gemma_2b}\nbatch_size: 1\noptimizer: {_component_: a.SGD}\n"
TUNE += "tokenizer: {_component_: a.b}\n"
LIGHTNING = "trainer: {max_steps: 10, precision: %s, strategy: %s}\nmodel: Net\n"


@pytest.mark.parametrize(
    ("name", "text", "values", "left"),
    [
        ("a.yml", AXOLOTL + "lora_r: 8", {"model": "gpt2", "batch_size_per_gpu": 1}, ()),
        ("a.yml", AXOLOTL + "gradient_checkpointing: unsloth",
         {"model": "gpt2", "batch_size_per_gpu": 1, "grad_checkpointing": True}, ("gradient_checkpointing: unsloth",)),
        ("a.yml", AXOLOTL + "max_steps: 10\nnum_epochs: 2",
         {"model": "gpt2", "batch_size_per_gpu": 1, "steps": 10.0}, ()),
        ("a.yml", TIMM + "input_size: [3, 256, 256]\namp: false",
         {"model": "resnet50", "batch_size_per_gpu": 1, "optimizer": "sgd", "image_size": 256, "precision": "fp32"},
         ()),
        ("a.yml", TIMM + "input_size: [3, 256, 192]",
         {"model": "resnet50", "batch_size_per_gpu": 1, "optimizer": "sgd"}, ("input_size: 256 x 192",)),
        ("a.yml", TUNE + "dtype: fp32\nmax_steps_per_epoch: 5",
         {"model": "gemma_2b", "batch_size_per_gpu": 1, "optimizer": "sgd", "precision": "fp32"},
         ("max_steps_per_epoch",)),
        ("a.yml", TUNE.replace("gemma_2b}", "qlora_gemma_2b}"),
         {"model": "gemma_2b", "lora_rank": 8, "four_bit_weights": True, "batch_size_per_gpu": 1, "optimizer": "sgd"},
         ()),
        ("a.yml", TUNE.replace("gemma_2b}", "dora_gemma_2b, lora_rank: 4}"),
         {"model": "gemma_2b", "lora_rank": 4, "batch_size_per_gpu": 1, "optimizer": "sgd"}, ("model: dora",)),
        ("a.yml", AXOLOTL + "load_in_4bit: true", {"model": "gpt2", "batch_size_per_gpu": 1}, ("load_in_4bit",)),
        ("a.yml", AXOLOTL + "adapter: lora\nlora_r: 4\nload_in_8bit: true",
         {"model": "gpt2", "batch_size_per_gpu": 1, "lora_rank": 4}, ("load_in_8bit",)),
        ("a.yml", LIGHTNING % ("64-true", "fsdp"), {"steps": 10.0, "zero_stage": 3},
         ("precision: 64-true", "model: Net")),
        ("a.yml", LIGHTNING % ("32", "ddp_spawn"), {"steps": 10.0, "precision": "fp32"}, ("model: Net",)),
        ("a.yml", LIGHTNING % ("16-mixed", "{class_path: x.ModelParallelStrategy}") + "extra: 1",
         {"steps": 10.0, "precision": "fp16"},
         ("strategy: x.ModelParallelStrategy", "model: Net", "extra")),
        ("a.toml", "job = {}\nmodel = {name = 'llama3'}\ntraining = {mixed_precision_param = 'float32'}\n"
         "parallelism = {data_parallel_shard_degree = 1}\nactivation_checkpoint = {mode = 'none'}\nstray = 1",
         {"model": "llama3", "precision": "fp32", "zero_stage": 0, "grad_checkpointing": False}, ("stray",)),
        ("a.toml", "job = {}\nmodel = {}\ntraining = {global_batch_size = 64, seq_len = 8}",
         {"global_batch_size": 64, "seq_length": 8, "zero_stage": 3}, ()),
    ],
)  # fmt: skip
def test_other_ways_to_say_it(
    tmp_path: Path, name: str, text: str, values: dict[str, Any], left: tuple[str, ...]
) -> None:
    config = written(tmp_path, name, text)
    assert config.values == values
    assert config.left_aside == left


def test_a_torchtune_type_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'dtype' must be bf16, fp16 or fp32"):
        written(tmp_path, "a.yml", TUNE + "dtype: int8")


def test_a_model_beside_the_configuration_is_found(tmp_path: Path) -> None:
    (tmp_path / "my-model").mkdir()
    config = written(tmp_path, "args.json", json.dumps({"num_train_epochs": 1, "model_name_or_path": "my-model"}))
    assert config.values["model"] == str(tmp_path / "my-model")


# Nine lines, each of nine aliases of the line before: 9^9 values; and the same by merge keys.
PAIRS = list(zip("abcdefgh", "bcdefghi", strict=True))
BOMB = "a: &a [x, x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in PAIRS)
MERGE_BOMB = "a: &a {k: v}\n" + "".join(f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n" for a, b in PAIRS)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("bomb.yml", BOMB, "unfolds to more than 100,000 values"),
        ("bomb.yml", MERGE_BOMB, "unfolds to more than 100,000 values"),
        ("deep.yml", "[" * 5000, "nested more than 100 deep|not YAML"),
        ("deep.yml", "[" * 90 + "]" * 90, "no fields but a list"),
        ("self.yml", "a: &a [*a]", "nested more than 100 deep"),
        ("code.yml", "base_model: !!python/object/apply:os.system ['true']\nmicro_batch_size: 1", "safely"),
        ("tabs.yml", "base_model: a\n\tmicro_batch_size: 1", "line 2"),
        ("empty.yml", "", "is empty"),
        ("text.yml", "just words", "no fields but a text"),
        ("two.yml", "a: 1\n---\nb: 2", "not YAML"),
        ("date.yml", "a: 2026-99-99", "not YAML|is not recognised"),
        ("half.json", '{"num_train_epochs": 3', "is not JSON"),
        ("list.json", "[1]", "no JSON object"),
        ("half.toml", "[training\n", "is not TOML"),
        ("other.ini", "x=1", "no .json, .yaml, .yml or .toml file"),
        ("unknown.json", '{"colour": "red"}', "is not recognised; known are axolotl"),
        ("a.json", '{"num_train_epochs": "many"}', "'num_train_epochs' must be a number"),
        ("a.json", '{"num_train_epochs": true}', "'num_train_epochs' must be a number"),
        ("a.json", '{"num_train_epochs": NaN}', "'num_train_epochs' must be a number"),
        ("a.json", '{"num_train_epochs": 1, "per_device_train_batch_size": 1.5}', "must be a whole number"),
        ("a.json", '{"num_train_epochs": 1, "per_device_train_batch_size": [4]}', "must be a whole number"),
        ("a.json", '{"num_train_epochs": 1, "gradient_checkpointing": 3}', "must be true or false"),
        ("a.json", '{"num_train_epochs": 1, "optim": 3}', "must be a text"),
        ("a.json", '{"num_train_epochs": 1, "deepspeed": 3}', "must be a DeepSpeed configuration"),
        ("a.yml", "model: x\noptimizer: x\nbatch_size: 1\ntokenizer: y", "must be a component"),
        ("a.yml", "model: r\nbatch_size: 1\nopt: sgd\nsched: cosine\ninput_size: 224", "a list of channels"),
    ],
)
def test_what_is_broken_is_named_in_one_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        written(tmp_path, name, text)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_sizes_and_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_training_config(str(tmp_path / "none.yml"))
    with pytest.raises(InputError, match="null"):
        read_training_config("a\0.yml")
    path = tmp_path / "large.yml"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(InputError, match="more than 2,097,152 are not read"):
        read_training_config(str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="not a plain file"):
        read_training_config(str(path))


def test_anchors_in_reason_are_fine(tmp_path: Path) -> None:
    text = "defaults: &d\n  lr: 1\nbase_model: gpt2\nmicro_batch_size: 2\nother: *d\n"
    assert written(tmp_path, "a.yml", text).values == {"model": "gpt2", "batch_size_per_gpu": 2}


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="abc:-[]{}&*!<>|'\"# \n\t0", max_size=60))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    try:
        load_yaml(text, "it")
    except InputError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert "\n" not in sentence


@settings(max_examples=150, deadline=None)
@given(
    key=st.sampled_from(["per_device_train_batch_size", "max_steps", "bf16", "optim", "fsdp", "deepspeed", "lora_r"]),
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2),
)
def test_any_value_is_taken_left_or_refused(tmp_path_factory: pytest.TempPathFactory, key: str, value: object) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        written(folder, "a.json", json.dumps({"num_train_epochs": 1, key: value}))
    except InputError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert "\n" not in sentence
