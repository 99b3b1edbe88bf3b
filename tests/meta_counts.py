"""What transformers and PEFT count in the model of a config.json, on the meta device, which needs no weights; as a command, writes the table."""
from __future__ import annotations

import csv
import json
from pathlib import Path

CONFIGS = Path(__file__).parent / "data" / "configs"
TABLE = CONFIGS / "counts.csv"
COLUMNS = ("file", "architecture", "parameters", "lora_r8_all_linear", "transformers")
RANK = 8


def counts(path: Path) -> dict[str, str]:
    """The row of the table: parameters of the language model, tied ones once, and those of adapters on all its linear layers."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model

    data = json.loads(path.read_text(encoding="utf-8"))
    architecture = data["architectures"][0]
    for part in (data, data.get("text_config", {})):
        part.pop("quantization_config", None)  # how the file stores the weights; the modules stay the same
    make = getattr(transformers, architecture)
    with torch.device("meta"):
        model = make._from_config(make.config_class.from_dict(data), dtype=torch.bfloat16)
    model.tie_weights()
    whole = getattr(model, "model", None)
    language = getattr(whole, "language_model", None)
    parts = [model] if language is None else [language, model.lm_head]
    parameters = {id(parameter): parameter.numel() for part in parts for parameter in part.parameters()}
    targets = "all-linear"
    if language is not None:
        targets = [f"model.language_model.{name}" for name, module in language.named_modules() if isinstance(module, torch.nn.Linear)]
    with torch.device("meta"):
        adapted = get_peft_model(model, LoraConfig(r=RANK, target_modules=targets, task_type="CAUSAL_LM"))
    trainable = sum(parameter.numel() for parameter in adapted.parameters() if parameter.requires_grad)
    return dict(zip(COLUMNS, map(str, (path.name, architecture, sum(parameters.values()), trainable, transformers.__version__))))


def table() -> dict[str, dict[str, str]]:
    """The table's rows by file."""
    with open(TABLE, newline="", encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


if __name__ == "__main__":
    from builder.config_file import read
    from builder.errors import UsageError
    from builder.hf_config import facts
    from builder.presets import load

    presets = load()
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for path in sorted(CONFIGS.glob("*.json")):
            try:
                facts(read(path), presets.families, presets.architectures)
            except UsageError:
                continue  # refused: no preset to compare with
            writer.writerow(counts(path))
