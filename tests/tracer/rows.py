"""tests/data/lora-traces.csv: 104 jobs traced with the versions of the extra `trace`, and the inputs that describe each."""
from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

FILE = Path(__file__).parents[1] / "data" / "lora-traces.csv"
TARGETS = {"all": "All linear", "qv": "q, v", "attn": "q, k, v, o"}


def rows() -> list[dict[str, str]]:
    """Every row, as text."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def label(row: dict[str, str]) -> str:
    """What tells a row from the others."""
    flags = [key for key in ("checkpointing", "kbit_prepare", "keep_output") if row[key] == "true"]
    nf4 = ["one scale"] if row["method"] == "qlora" and row["double_quant"] == "false" else []
    upper = [f"top {row['upper']}"] if row["upper"] else []
    return ", ".join([row["model"], row["method"], row["base_dtype"], f"rank {row['rank']} of {row['targets']}", f"{row['batch']} x {row['seq']}",
                      f"dropout {row['dropout']}", row["attention"], *upper, *nf4, *flags])


def typed(row: dict[str, str], presets) -> dict[str, object]:
    """The inputs of a row. The traced loop is the Trainer's; without checkpointing it kept a KV cache."""
    plain = {"fp32": "FP32"}.get(row["base_dtype"], "BF16")
    quantised = "NF4 double-quantised" if row["double_quant"] == "true" else "NF4"
    checkpointing = row["checkpointing"] == "true"
    return {
        "base_model": next(model.name for model in presets.models if model.slug == row["model"]),
        "base_storage": plain if row["method"] == "lora" else quantised,
        "kbit_preparation": "Yes" if row["kbit_prepare"] == "true" else "No",
        "lora_rank": int(row["rank"]),
        "lora_targets": TARGETS[row["targets"]],
        "adapter_top_layers": int(row["upper"]) if row["upper"] else None,
        "lora_dropout": float(row["dropout"]),
        "batch_size": int(row["batch"]),
        "sequence_length": int(row["seq"]),
        "activation_checkpointing": "On" if checkpointing else "Off",
        "attention_kernel": "Eager" if row["attention"] == "eager" else "Flash / SDPA",
        "training_loop": "Hugging Face Trainer",
        "keeps_kv_cache": "No" if checkpointing else "Yes",
        "keeps_previous_output": "Yes" if row["keep_output"] == "true" else "No",
    }


def without_windows(presets, family: str):
    """The presets with no sliding window in the models of a family."""
    change = {"sliding_window": None, "full_attention_every": 1}
    models = tuple(model.model_copy(update=change) if model.family == family else model for model in presets.models)
    return replace(presets, models=models)
