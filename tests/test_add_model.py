"""`sizing add-model`: 30 config.json files become presets with the counts of transformers and PEFT, and what no family describes is refused."""
from __future__ import annotations

import json
import random
import shutil
from datetime import date
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from builder import preset_file
from builder.add_model import draft
from builder.check import findings
from builder.cli import main
from builder.config_file import read
from builder.config_schema import NEEDED
from builder.errors import SizingError, UsageError
from builder.hf_config import facts
from builder.layout import lay_out
from builder.presets import ROOT, load
from builder.reference import estimate
from builder.template import load_templates
from tests import meta_counts
from tests.meta_counts import CONFIGS
from tests.preset_copies import change, refused, root  # root is a fixture

PRESETS = load()
COUNTS = meta_counts.table()
FALCON = CONFIGS / "falcon3-7b.json"


def drafted(path: Path, **options):
    return draft(read(path), PRESETS, {"name": f"Config {path.stem}", "slug": f"config-{path.stem}", **options})


def add(root, config, **options):
    """The command's result on a copy of the presets, and the files that it left beside the shipped ones."""
    arguments = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    result = CliRunner().invoke(main, ["add-model", str(config), *arguments, "--out", str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result, sorted({path.name for path in (root / "models").iterdir()} - {path.name for path in (ROOT / "models").iterdir()})


def changed(tmp_path: Path, name: str, **keys) -> Path:
    """A copy of a config with other values; `...` takes a key out."""
    data = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    data |= keys
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not ...}, indent=2), encoding="utf-8")
    return path


def read_facts(path: Path):
    return facts(read(path), PRESETS.families, PRESETS.architectures)


# What is sized


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """All presets, with one of each config that has counts."""
    folder = tmp_path_factory.mktemp("added") / "presets"
    shutil.copytree(ROOT, folder)
    for name in COUNTS:
        made = drafted(CONFIGS / name)
        (folder / "models" / f"{made.stem}.yaml").write_text(preset_file.text(made.data), encoding="utf-8")
    return load(folder)


def test_every_family_has_a_config():
    assert len(COUNTS) >= 30
    assert {drafted(CONFIGS / name).family for name in COUNTS} == set(PRESETS.families)


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_parameters_and_adapters_are_those_of_transformers_and_peft(name, added):
    model = next(model for model in added.models if model.slug == f"config-{Path(name).stem}")
    assert model.parameters.value == int(COUNTS[name]["parameters"]) and not model.parameters.published
    found = estimate(added, {"base_model": model.name, "lora_targets": "All linear", "lora_rank": meta_counts.RANK})
    assert found["trainable_parameters"] == int(COUNTS[name]["lora_r8_all_linear"])


SOURCES = {entry["file"]: entry["hub_id"] for entry in yaml.safe_load((CONFIGS / "SOURCES.yaml").read_text(encoding="utf-8"))}


SHIPPED = {name: model for name in COUNTS for model in PRESETS.models if model.hub_id == SOURCES[name] and name != "falcon-7b-one-layer.json"}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_config_of_a_shipped_model_gives_its_preset(name):
    """In all that is no text."""
    model, made = SHIPPED[name], drafted(CONFIGS / name)
    shape = model.shape.model_dump(exclude_none=True)
    assert {**shape, "source": "", "date": ""} == {**made.data["shape"], "source": "", "date": ""}
    assert made.data.get("sliding_window") == model.sliding_window and made.data.get("full_attention_every", 1) == model.full_attention_every
    assert made.data.get("rotary_share", 1) == model.rotary_share and made.parameters == model.parameters.value


def test_many_shipped_models_have_their_config_here():
    assert len(SHIPPED) >= 10


def test_every_config_has_a_source():
    assert sorted(SOURCES) == sorted(path.name for path in CONFIGS.glob("*.json"))


@pytest.mark.parametrize("name, notes", [
    ("gemma-3-27b-multimodal", "The language model of Gemma3ForConditionalGeneration alone; its other parts come on top."),
    ("gemma-3-27b-multimodal", "leaves out what is the default of transformers: vocabulary 262208."),
    ("gemma-3-27b-multimodal", "Sliding window of 1,024 tokens, every 6th layer has full attention"),
    ("qwen2.5-vl-7b", "The language model of Qwen2_5_VLForConditionalGeneration alone"),
    ("mistral-7b-v0.1", "Sliding window of 4,096 tokens in every layer"),
    ("tinyllama-1.1b-bnb-nf4", "stored as NF4 of bitsandbytes, double-quantised: base_storage NF4 double-quantised is the same."),
    ("gpt-oss-20b", "stored as MXFP4: it is turned into BF16 for training, so base_storage BF16 comes nearest."),
    ("qwen3-8b-fp8", "stored as FP8: that is no storage of this workbook, and training on it needs other kernels"),
])
def test_the_notes_say_what_the_numbers_do_not(name, notes):
    assert notes in drafted(CONFIGS / f"{name}.json").data["notes"]


@pytest.mark.parametrize("quantization, storage", [
    ({"load_in_8bit": True}, "INT8 of bitsandbytes"), ({"quant_method": "bitsandbytes", "bnb_4bit_quant_type": "nf4"}, "NF4 of bitsandbytes: base_storage NF4 is"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"}, "FP4"), ({"quant_method": "gptq", "bits": 4}, "GPTQ"),
    ({"quant_method": "awq"}, "AWQ"), ({"quant_method": "hqq"}, "hqq: that is no storage"), ({}, "an unnamed format"),
])
def test_how_a_checkpoint_is_stored(tmp_path, quantization, storage):
    found = read_facts(changed(tmp_path, "llama-3.2-1b", quantization_config=quantization))
    assert storage in found.storage and found.shape == read_facts(CONFIGS / "llama-3.2-1b.json").shape


@pytest.mark.parametrize("name, keys, window", [
    ("qwen2.5-7b", {"use_sliding_window": True, "max_window_layers": 0}, (131072, 0)),
    ("qwen2.5-7b", {"use_sliding_window": True, "max_window_layers": 28}, (None, 1)),
    ("qwen2.5-7b", {"use_sliding_window": True, "layer_types": ["sliding_attention", "full_attention"] * 14}, (131072, 2)),
    ("mistral-7b-v0.1", {"sliding_window": None}, (None, 1)), ("mistral-7b-v0.1", {"sliding_window": ...}, (4096, 0)),
    ("gemma-3-1b", {"sliding_window_pattern": ...}, (512, 6)), ("gemma-3-1b", {"sliding_window_pattern": 4}, (512, 4)),
    ("gemma-3-1b", {"sliding_window_pattern": 1}, (None, 1)), ("gemma-2-9b", {"sliding_window": ...}, (4096, 2)),
    ("gemma-3-1b", {"layer_types": ["full_attention"] * 26}, (None, 1)), ("smollm3-3b", {"sliding_window": 99}, (None, 1)),
    ("llama-3.2-1b", {"sliding_window": 99}, (None, 1)), ("starcoder2-7b", {"sliding_window": ...}, (None, 1)),
])
def test_windows(tmp_path, name, keys, window):
    found = read_facts(changed(tmp_path, name, **({"sliding_window": 131072} | keys if name.startswith("qwen2.5-7b") else keys)))
    assert (found.sliding_window, found.full_attention_every) == window


@pytest.mark.parametrize("name, keys, expected", [
    ("vicuna-7b-v1.3", {}, {"kv_heads": 32, "head_dim": 128}), ("gpt2-large", {"n_inner": None}, {"feed_forward": 5120}),
    ("gpt2-large", {"n_inner": 999}, {"feed_forward": 999}),
    ("llama-3.2-1b", {"attention_bias": True}, {"qkv_bias": True, "o_bias": True, "mlp_bias": False}), ("llama-3.2-1b", {"mlp_bias": True}, {"mlp_bias": True}),
    ("qwen2.5-7b", {}, {"qkv_bias": True, "o_bias": False}), ("starcoder2-7b", {"use_bias": False}, {"qkv_bias": False, "o_bias": False, "mlp_bias": False}),
    ("pythia-1b", {"attention_bias": False}, {"qkv_bias": False, "mlp_bias": True}),
    ("falcon-7b-one-layer", {"bias": True}, {"kv_heads": 1, "qkv_bias": True, "mlp_bias": True}),
    ("gemma-2-9b", {}, {"tied_embeddings": True}), ("llama-3.2-1b", {"tie_word_embeddings": ...}, {"tied_embeddings": False}),
    ("gpt2", {"n_embd": ..., "hidden_size": 768}, {"hidden_size": 768}), ("mistral-7b-v0.1", {"num_key_value_heads": None}, {"kv_heads": 32}),
    ("mixtral-8x7b", {"num_local_experts": ..., "num_experts": 4}, {"experts": 4, "experts_per_token": 2}),
    ("llama-3.2-1b", {"architectures": ...}, {"layers": 16}),
])
def test_keys_and_their_defaults(tmp_path, name, keys, expected):
    shape = read_facts(changed(tmp_path, name, **keys)).shape
    assert expected.items() <= shape.items()


@pytest.mark.parametrize("name, keys, share", [
    ("phi-4-mini", {}, 0.75), ("pythia-1b", {}, 0.25), ("pythia-1b", {"rotary_pct": ...}, 0.25),
    ("pythia-1b", {"rotary_pct": ..., "rope_parameters": {"partial_rotary_factor": 0.5}}, 0.5),
    ("phi-4-mini", {"partial_rotary_factor": ..., "rope_parameters": {"partial_rotary_factor": 0.5}}, 0.5), ("llama-3.2-1b", {"partial_rotary_factor": 1.0}, 1),
])
def test_the_share_that_turns(tmp_path, name, keys, share):
    assert read_facts(changed(tmp_path, name, **keys)).rotary_share == share


LARGER = [
    ("Mistral3ForConditionalGeneration", "mistral3", "mistral-7b-v0.1", {}), ("LlavaNextForConditionalGeneration", "llava_next", "mistral-7b-v0.1", {}),
    ("LlavaOnevisionForConditionalGeneration", "llava_onevision", "qwen2.5-7b", {}), ("PaliGemmaForConditionalGeneration", "paligemma", "gemma-2-9b", {}),
    ("InternVLForConditionalGeneration", "internvl", "qwen3-4b-transformers5", {"layer_types": None}),
    ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", "qwen2.5-7b", {"model_type": "qwen2_5_vl_text"}),
]


def larger(tmp_path: Path, architecture: str, kind: str, name: str, keys: dict, **outer) -> Path:
    """A config of a model that has the one of another config, with two layers, as its language model."""
    text = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")) | {"num_hidden_layers": 2} | keys
    del text["architectures"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": [architecture], "model_type": kind, "text_config": text, **outer}), encoding="utf-8")
    return path


@pytest.mark.parametrize("architecture, kind, name, keys", LARGER)
def test_a_language_model_within_a_larger_one(tmp_path, architecture, kind, name, keys):
    found = read_facts(larger(tmp_path, architecture, kind, name, keys))
    assert (found.family, found.language_model_alone, found.architecture) == (drafted(CONFIGS / f"{name}.json").family, True, architecture)
    for tied in (True, False):
        assert read_facts(larger(tmp_path, architecture, kind, name, keys, tie_word_embeddings=tied)).shape["tied_embeddings"] is tied


def test_an_encoder_around_a_known_language_model(tmp_path):
    with pytest.raises(UsageError, match="is_encoder_decoder: true means an encoder beside the decoder"):
        read_facts(larger(tmp_path, "SomeForConditionalGeneration", "some", "llama-3.2-1b", {}, is_encoder_decoder=True))


# The command


def test_a_model_is_written_checked_and_offered(root):
    result, files = add(root, FALCON, name="Falcon3 7B", hub_id="tiiuae/Falcon3-7B-Instruct", source="a copy of it", date="2026-11-29")
    assert result.exit_code == 0 and files == ["falcon3-7b.yaml"]
    assert "Falcon3 7B, family Llama: 7,455,550,464 parameters, 14.91 GB in BF16" in result.output and "Activations are modelled." in result.output
    assert f"falcon3-7b.yaml: written, all {len(PRESETS.models) + 1} models pass. Next: sizing build" in result.output
    presets = load(root)
    model = next(model for model in presets.models if model.name == "Falcon3 7B")
    assert (model.slug, model.hub_id, model.shape.source, model.shape.date) == ("falcon3-7b", "tiiuae/Falcon3-7B-Instruct", "a copy of it", date(2026, 11, 29))
    assert estimate(presets, {"base_model": "Falcon3 7B"})["total_gb"] > 14.9
    layout = lay_out(presets, load_templates("finetune"))
    assert not list(findings(layout)) and "Falcon3 7B" in [offered.name for offered in layout.presets.models]


def test_the_layout_is_that_of_the_others(root):
    """A shipped model, made again from its config, differs in what is text only."""
    (root / "models" / "pythia-160m.yaml").unlink()
    _, files = add(root, CONFIGS / "pythia-1b.json", name="Pythia 160M", slug="pythia-160m")
    made, shipped = ((folder / "models" / "pythia-160m.yaml").read_text(encoding="utf-8") for folder in (root, ROOT))
    keys = [[line.split(":")[0] for line in text.splitlines() if "published" not in line] for text in (made, shipped)]
    assert files == [] and keys[0] == keys[1]


def test_a_family_without_activations_says_so(root):
    result, files = add(root, CONFIGS / "mixtral-8x7b.json", name="Mixtral again")
    family = PRESETS.families["mixtral"]
    assert files == ["mixtral-again.yaml"] and ("Activations are not modelled" in result.output) != family.activations_modelled


@pytest.mark.parametrize("loaded_from, options, name, stem, hub_id", [
    ("lmsys/vicuna-7b-v1.3", {}, "vicuna 7b v1.3", "vicuna-7b-v1.3", "lmsys/vicuna-7b-v1.3"),
    ("lmsys/vicuna-7b-v1.3", {"hub_id": "me/My_Model-7B"}, "My Model 7B", "my-model-7b", "me/My_Model-7B"),
    ("/data/vicuna", {}, "my folder", "my-folder", "none (local checkpoint)"), ("./x/y", {"name": "Mine 7B"}, "Mine 7B", "mine-7b", "none (local checkpoint)"),
    (..., {"name": "Mine 7B base", "slug": "mine-7b"}, "Mine 7B base", "mine-7b", "none (local checkpoint)"),
])
def test_names(root, tmp_path, loaded_from, options, name, stem, hub_id):
    folder = tmp_path / "my-folder"
    folder.mkdir()
    changed(folder, "vicuna-7b-v1.3", _name_or_path=loaded_from)
    result, files = add(root, folder, **options)
    assert result.exit_code == 0 and files == [f"{stem}.yaml"]
    made = yaml.safe_load((root / "models" / files[0]).read_text(encoding="utf-8"))
    assert (made["name"], made["hub_id"]) == (name, hub_id)


@pytest.mark.parametrize("options, value", [
    ({"published": 7455550464, "published_source": "model card"}, {"value": 7455550464, "source": "model card"}),
    ({"published": 7455550465, "published_source": "model card", "difference": "one too many"},
     {"value": 7455550464, "published_value": 7455550465, "difference": "one too many", "source": "model card"}),
])
def test_a_published_count(root, options, value):
    _, files = add(root, FALCON, date="2026-11-30", **options)
    assert yaml.safe_load((root / "models" / files[0]).read_text(encoding="utf-8"))["parameters"] == value | {"date": date(2026, 11, 30)}
    load(root)


@pytest.mark.parametrize("options, message", [
    ({"published": 7}, "--published and --published-source go together"),
    ({"published": 7455550465, "published_source": "x"}, "the shape gives 7455550464, a difference of +1; say why with --difference"),
    ({"name": "llama 2 7b"}, "the name 'llama 2 7b' is taken by"), ({"name": "article encoder 1b", "slug": "encoder"}, "the name 'article encoder 1b' is taken by"),
    ({"name": "New", "slug": "llama-2-7b"}, "llama-2-7b.yaml already"),
    ({"slug": "../up"}, "'../up' is not a file name"), ({"name": "???"}, "'' is not a file name"), ({"date": "30.11.2026"}, "write one as 2026-11-30"),
    ({"name": "Falcon*"}, "must not contain *"), ({"source": " "}, "source: '' is empty; the file was not kept"), ({"published": 0}, "--published"),
])
def test_a_wrong_option_leaves_nothing_behind(root, options, message):
    result, files = add(root, FALCON, **options)
    assert result.exit_code in (2, 64) and message in " ".join(result.output.split()) and files == []


def test_presets_that_do_not_load_are_named_and_nothing_is_added(root):
    change(root / "models" / "llama-2-7b.yaml", "layers: 32", "layers: 31")
    result, files = add(root, FALCON)
    assert result.exit_code == 2 and "llama-2-7b.yaml" in result.output and files == []


def test_presets_of_another_book_that_do_not_load_are_named_and_nothing_is_added(root):
    """A model is offered in every book, so each must load with it."""
    change(root / "options" / "20_recipe.yaml", "  default: FP32\n", "  default: FP33\n")
    load(root)
    result, files = add(root, FALCON)
    assert result.exit_code == 2 and "20_recipe.yaml" in result.output and files == []


# What is refused


@pytest.mark.parametrize("name, message", [
    ("bert-base", "architecture 'BertForMaskedLM' is not one that the families describe; this model has an encoder trained on masked tokens, not a decoder"),
    ("bloom-3b", "this model has alibi in place of rotary positions (offset_alibi)"),
    ("chatglm3-6b", "architecture 'ChatGLMModel' is not one that the families describe; this model has code of its own"),
    ("deepseek-v3", "this model has latent attention, keys and values through a narrow matrix (kv_lora_rank)"),
    ("devstral-small-2-24b", "the language model of 'Mistral3ForConditionalGeneration', model_type 'ministral3', is not one that the families describe; nearest: mistral; "
                             "this model has queries scaled by their position (rope_parameters.llama_4_scaling_beta)"),
    ("falcon-40b", "falcon-40b.json:20:3: new_decoder_architecture: true, but family 'Falcon' describes false"),
    ("falcon-7b-2023", "architecture 'RWForCausalLM' is not one that the families describe; this model has a name from before transformers knew Falcon"),
    ("gemma-7b", "architecture 'GemmaForCausalLM' is not one that the families describe; nearest: Gemma"),
    ("jamba-reduced", "this model has state-space layers (mamba_d_state); a convolution in each layer (mamba_d_conv); attention in some layers only (attn_layer_period)"),
    ("llama-3.1-8b-reward", "nearest: LlamaForCausalLM; this model has a classification head in place of the output head"),
    ("llama-4-scout", "model_type 'llama4_text', is not one that the families describe; this model has attention in chunks (attention_chunk_size)"),
    ("mamba-130m", "mamba-130m.json:2:3: architecture 'MambaForCausalLM' is not one that the families describe; this model has state-space layers (state_size); "
                   "a convolution in each layer (conv_kernel)"),
    ("mpt-7b", "this model has alibi in place of rotary positions (attn_config.alibi)"),
    ("phi-2", "nearest: Phi3ForCausalLM; a new family is one file, see docs/how-to-add.md"),
    ("phimoe", "a bias on the output head (lm_head_bias)"),
    ("qwen1.5-moe-a2.7b", "nearest: Qwen3MoeForCausalLM; this model has experts that every token takes (shared_expert_intermediate_size)"),
    ("redpajama-3b", "use_parallel_residual: false, but family 'GPT-NeoX' describes true"),
    ("rwkv5-3b", "this model has recurrent layers in place of attention (attention_hidden_size, rescale_every)"),
    ("t5-small", "this model has an encoder beside the decoder (is_encoder_decoder, num_decoder_layers); relative positions (relative_attention_num_buckets)"),
    ("whisper-large-v2-reduced", "this model has an encoder beside the decoder (is_encoder_decoder, decoder_layers)"),
])
def test_a_model_that_no_family_describes(root, name, message):
    result, files = add(root, CONFIGS / f"{name}.json")
    assert result.exit_code == 64 and message in result.stderr and f"{name}.json:" in result.stderr and files == []


def test_every_config_is_sized_or_refused():
    refusals = next(mark for mark in test_a_model_that_no_family_describes.pytestmark if mark.name == "parametrize").args[1]
    assert sorted([*COUNTS, *(f"{name}.json" for name, _ in refusals)]) == sorted(SOURCES)


@pytest.mark.parametrize("name, keys, message", [
    ("llama-3.2-1b", {"num_hidden_layers": ...}, "config.json:1:1: the key num_hidden_layers is missing"),
    ("llama-3.2-1b", {"hidden_size": ..., "vocab_size": None}, "the keys hidden_size, vocab_size are missing"),
    ("llama-3.2-1b", {"num_key_value_heads": 5}, ":23:3: kv_heads: 5 does not divide heads, 32"),
    ("qwen2.5-7b", {"num_key_value_heads": ...}, "kv_heads: 32, the default, does not divide heads, 28"),
    ("llama-3.2-1b", {"num_hidden_layers": 0}, "num_hidden_layers: 0 is not a whole number from 1 on"),
    ("llama-3.2-1b", {"num_hidden_layers": True}, "num_hidden_layers: true is not a whole number from 1 on"),
    ("llama-3.2-1b", {"hidden_size": 2048.5}, "hidden_size: 2048.5 is not a whole number"),
    ("llama-3.2-1b", {"hidden_size": "heads"}, "hidden_size: 'heads' is text"),
    ("vicuna-7b-v1.3", {"hidden_size": 4097}, "hidden_size: 4097 is not a multiple of the 32 heads"),
    ("llama-3.2-1b", {"tie_word_embeddings": 1}, "tie_word_embeddings: 1 is not true or false"),
    ("llama-3.2-1b", {"hidden_act": "gelu"}, "hidden_act: 'gelu', but family 'Llama' describes 'silu' or 'swish'"),
    ("llama-3.2-1b", {"kv_lora_rank": 512}, "kv_lora_rank: 512 means latent attention, keys and values through a narrow matrix, and a config.json of family 'Llama' has no such key"),
    ("llama-3.2-1b", {"model_type": "mistral"}, "model_type: 'mistral' contradicts the architecture 'LlamaForCausalLM', whose model_type is llama"),
    ("llama-3.2-1b", {"partial_rotary_factor": 0.5}, "partial_rotary_factor: 0.5, but family 'Llama' describes 1"),
    ("llama-3.2-1b", {"architectures": ..., "model_type": ...}, "the keys 'architectures' and 'model_type' are missing"),
    ("llama-3.2-1b", {"architectures": ..., "model_type": "lama"}, "model_type 'lama' is not one that the families describe; nearest: llama"),
    ("mistral-7b-v0.1", {"mlp_bias": True}, "mlp_bias: true means biases on the MLP"),
    ("phi-4-mini", {"attention_bias": True}, "attention_bias: true means biases on q, k, v and o"),
    ("mistral-7b-v0.1", {"layer_types": ["full_attention"] * 32}, "layer_types: some layers do not slide"),
    ("gemma-3-1b", {"layer_types": ["full_attention"]}, "layer_types: expected a list of 26 layers"),
    ("gemma-3-1b", {"layer_types": ["linear_attention"] * 26}, "layer_types: 'linear_attention' is not full_attention or sliding_attention"),
    ("qwen2.5-7b", {"use_sliding_window": True, "max_window_layers": 21}, "max_window_layers: 7 of 28 layers slide, from layer 21 on; a preset knows all, none, or all but every n-th"),
    ("smollm3-3b", {"use_sliding_window": True}, "use_sliding_window: true, but family 'SmolLM3' describes false"),
    ("gemma-2-9b", {"attn_logit_softcapping": None}, "attn_logit_softcapping: null, but family 'Gemma 2' describes a number"),
    ("gemma-3-1b", {"final_logit_softcapping": 30.0}, "final_logit_softcapping: 30.0, but family 'Gemma 3' describes null"),
    ("falcon-7b-one-layer", {"alibi": True}, "alibi: true, but family 'Falcon' describes false"),
    ("falcon-7b-one-layer", {"parallel_attn": False}, "parallel_attn: false, but family 'Falcon' describes true"),
    ("falcon-7b-one-layer", {"multi_query": False}, "multi_query: false, but family 'Falcon' describes true"),
    ("gpt2", {"add_cross_attention": True}, "add_cross_attention: true means attention to an encoder"),
    ("gpt2", {"hidden_size": 999}, "hidden_size: 999, but n_embd is 768"),
    ("qwen3-30b-a3b", {"decoder_sparse_step": 2}, "decoder_sparse_step: 2, but family 'Qwen3 MoE' describes 1"),
    ("qwen3-30b-a3b", {"mlp_only_layers": [0]}, "mlp_only_layers: [0] means layers without experts among those with them"),
    ("qwen3-30b-a3b", {"shared_expert_intermediate_size": 64}, "shared_expert_intermediate_size: 64 means experts that every token takes"),
    ("mixtral-8x7b", {"num_experts_per_tok": 9}, "experts_per_token: 9 of 8 experts"),
    ("pythia-1b", {"rotary_pct": 1.5}, "rotary_pct: 1.5 is not a share from 0 to 1"),
    ("qwen2.5-vl-7b", {"vocab_size": ...}, "the key vocab_size is missing"),
])
def test_a_value_that_cannot_be_or_contradicts_the_family(tmp_path, name, keys, message):
    with pytest.raises(UsageError) as raised:
        read_facts(changed(tmp_path, name, **keys))
    assert message in str(raised.value)


@pytest.mark.parametrize("content, message", [
    (b'{"a": 1,\n "b" 2}', ":2:6: is not JSON: Expecting ':' delimiter"), (b"", ":1:1: is not JSON"), (b"[1]", ":1:1: is not a config.json"), (b"caf\xe9", ":1:4: the byte 0xe9 is not UTF-8"),
    (b'{"a": 1, "a": 2}', "the key 'a' stands twice"), (b'{"a": NaN}', "NaN is no number"), (b"[" * 100_000, "is not JSON"), (b'{"a": ' + b"1" * 5000 + b"}", "is not JSON"),
])
def test_what_is_no_json(root, tmp_path, content, message):
    (tmp_path / "config.json").write_bytes(content)
    result, files = add(root, tmp_path)
    assert result.exit_code == 64 and message in result.stderr and files == []


def test_a_folder_without_a_config(root, tmp_path):
    result, _ = add(root, tmp_path)
    assert result.exit_code == 64 and "config.json: cannot be read: No such file" in result.stderr


def test_whatever_a_config_holds_is_an_answer_or_an_error_of_ours(tmp_path):
    """Values of other types in every key, one at a time: no other exception."""
    drawn = random.Random(0)
    for name in COUNTS:
        data = json.loads((CONFIGS / name).read_text(encoding="utf-8"))
        for key in data.get("text_config", data):
            for value in drawn.sample([None, True, -1, 0, 3, 2.5, 1e400, "heads", "", [], ["a"], [[]], {}, {"a": []}, 10**30], 3):
                part = data.get("text_config", data)
                whole = {**data, "text_config": {**part, key: value}} if "text_config" in data else {**data, key: value}
                (tmp_path / "config.json").write_text(json.dumps(whole).replace("Infinity", "1e400"), encoding="utf-8")
                try:
                    draft(read(tmp_path), PRESETS, {"name": "Any"})
                except SizingError as error:
                    assert error.path is not None and error.message, (name, key, value)


# The data it is read by


@pytest.mark.parametrize("file, old, new, message", [
    ("families/llama.yaml", "model_types: [llama]", "model_types: [mistral]", "the name 'mistral' is taken"),
    ("families/llama.yaml", "defaults: {tied_embeddings: false, ", "defaults: {experts: 8, ", "config_json: experts but experts is false"),
    ("families/mixtral.yaml", "experts: [num_local_experts, num_experts], ", "", "config_json: experts is missing; give its keys in config.json, or a default"),
    ("families/llama.yaml", "window: none", "window: some", "window: 'some' is not one of none, every layer"),
    ("architectures.yaml", "defaults: {kv_heads: heads, ", "defaults: {kv_heads: head, ", "kv_heads"),
    ("architectures.yaml", "  vocabulary: [vocab_size]\n", "", "config_json: vocabulary is missing"),
])
def test_wrong_data(root, file, old, new, message):
    change(root / file, old, new)
    assert message in str(refused(root))


def test_presets_need_the_file_of_architectures(root):
    (root / "architectures.yaml").unlink()
    assert "architectures.yaml: no such file" in str(refused(root))


# The same from transformers and PEFT, without weights


@pytest.mark.trace
@pytest.mark.parametrize("name", sorted(COUNTS))
def test_the_table_of_counts_is_current(name):
    assert meta_counts.counts(CONFIGS / name) == COUNTS[name]


@pytest.mark.trace
@pytest.mark.parametrize("slug", sorted(PRESETS.families))
def test_defaults_are_those_of_the_config_classes(slug):
    import transformers

    family = PRESETS.families[slug]
    reading = family.config_json
    make = getattr(transformers, family.architectures[0]).config_class
    fields = {key: field.default for key, field in make.__dataclass_fields__.items()}
    keys = {**PRESETS.architectures.keys, **reading.keys}
    assert make.model_type in reading.model_types
    for fact, value in {**reading.defaults, **reading.text_config_defaults}.items():
        for key in keys.get(fact, [])[:1]:
            if key in fields and not isinstance(value, str):
                assert fields[key] == value, (fact, key)
    for fact in NEEDED:
        for key in keys.get(fact, [])[:1]:
            if fact not in reading.defaults and isinstance(fields.get(key), bool):
                pytest.fail(f"{fact}: the class has a default, {fields[key]}")
    for key, allowed in reading.requires.items():
        if key in fields:
            assert (isinstance(fields[key], float) if allowed == "number" else fields[key] in allowed), key
    layer_types = getattr(make(), "layer_types", None)
    if reading.window == "every n-th layer full":
        every = reading.defaults["full_attention_every"]
        assert layer_types == ["sliding_attention" if (layer + 1) % every else "full_attention" for layer in range(len(layer_types))]


@pytest.mark.trace
@pytest.mark.parametrize("architecture, kind, name, keys", LARGER)
@pytest.mark.parametrize("tied", [True, False])
def test_language_models_count_as_within_the_larger_one(tmp_path, architecture, kind, name, keys, tied):
    path = larger(tmp_path, architecture, kind, name, keys, tie_word_embeddings=tied)
    row = meta_counts.counts(path)
    assert draft(read(path), PRESETS, {"name": "Any"}).parameters == int(row["parameters"])


VARIANTS = [
    ("falcon-7b-one-layer", {"bias": True}), ("gemma-2-9b", {"attention_bias": True}), ("gemma-3-1b", {"head_dim": ..., "num_key_value_heads": ...}),
    ("gpt-oss-20b", {"attention_bias": False}), ("gpt2", {"n_inner": 1000}), ("gpt2", {"tie_word_embeddings": False}),
    ("granite-3.3-8b", {"mlp_bias": True, "attention_bias": True}),
    ("llama-3.2-1b", {"mlp_bias": True, "attention_bias": True, "tie_word_embeddings": ...}), ("mistral-7b-v0.1", {"num_key_value_heads": ..., "head_dim": 96}),
    ("mixtral-8x7b", {"num_key_value_heads": ..., "head_dim": 96}), ("olmo-2-7b", {"attention_bias": True, "num_key_value_heads": 8}),
    ("phi-3-mini-4k-transformers457", {"head_dim": 64, "num_key_value_heads": 8}),
    ("pythia-1b", {"attention_bias": False, "tie_word_embeddings": True}), ("qwen2.5-7b", {"num_key_value_heads": 2, "head_dim": 96}),
    ("qwen3-4b-transformers5", {"head_dim": ..., "attention_bias": True}),
    ("qwen3-30b-a3b", {"num_experts": 12, "head_dim": ..., "attention_bias": True}), ("smollm3-3b", {"mlp_bias": True, "num_key_value_heads": ...}),
    ("starcoder2-7b", {"use_bias": False, "num_key_value_heads": ..., "tie_word_embeddings": False}),
]


@pytest.mark.trace
@pytest.mark.parametrize("name, keys", VARIANTS, ids=[name for name, _ in VARIANTS])
def test_other_flags_and_defaults_count_as_in_transformers(tmp_path, name, keys):
    path = changed(tmp_path, name, **keys)
    assert drafted(path).parameters == int(meta_counts.counts(path)["parameters"]) != int(COUNTS[f"{name}.json"]["parameters"])
