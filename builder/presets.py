"""Loads every preset: models, cards, families, inputs, choices, rules, constants, measured runs, levers, methods and scenarios.

A preset attaches itself: a new model, card, family, option file, measured table, lever, method or file of scenarios is a new
file, with no list to edit.
"""
from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from builder import card_checks, config_schema
from builder import preset_checks as checks
from builder.card_schema import CardFile, CardPreset
from builder.config_schema import Architectures
from builder.decision_schema import Lever, LeverFile, Method, MethodFile, Scenario, ScenarioFile
from builder.errors import PresetError, nearest
from builder.measured import read_rows
from builder.option_schema import ChoiceList, Constant, ConstantsFile, Input, InputSpec, Measured, MeasuredFile, OptionFile, Rule
from builder.schema import BOOKS, Book, Family, ModelFile, ModelPreset
from builder.strict_yaml import Document
from builder.strict_yaml import load as load_yaml
from builder.validate import validate

ROOT = Path(__file__).resolve().parent.parent / "presets"
# Folder -> the kinds of file that it holds.
FOLDERS = {
    "models": (".yaml",), "cards": (".yaml",), "families": (".yaml",), "options": (".yaml",), "measured": (".yaml", ".csv"),
    "levers": (".yaml",), "methods": (".yaml",), "scenarios": (".yaml",),
}
# Folders whose files say for which books they are.
KINDS = {
    "models": ModelFile, "families": Family, "options": OptionFile, "measured": MeasuredFile, "levers": LeverFile, "methods": MethodFile, "scenarios": ScenarioFile,
}
CONSTANTS, ARCHITECTURES = "constants.yaml", "architectures.yaml"
SLUG = re.compile(r"[a-z0-9.-]+")
OPTION_FILE = re.compile(r"[a-z0-9._-]+")


@dataclass(frozen=True)
class Presets:
    """Everything under presets/, in the order in which dropdowns and tables show it.

    `models` are ordered by (brand, parameters, name), `cards` by (usable memory, name), `inputs` by (step, order). `families`
    and `measured` are keyed by file stem, `choices` by list name (an input's own choices by the input's), `constants` by name.
    `levers` are ordered by (cost class, name), so the cheapest come first, `methods` by (order, name), and `scenarios` as their
    files list them, file after file by name.
    `digest` is the SHA-256 of all files, those of other books too: same digest, same presets.
    """

    book: Book
    models: tuple[ModelPreset, ...]
    cards: tuple[CardPreset, ...]
    families: Mapping[str, Family]
    inputs: tuple[Input, ...]
    rules: tuple[Rule, ...]
    choices: Mapping[str, ChoiceList]
    constants: Mapping[str, Constant]
    architectures: Architectures
    measured: Mapping[str, Measured]
    levers: tuple[Lever, ...]
    methods: tuple[Method, ...]
    scenarios: tuple[Scenario, ...]
    digest: str

    @property
    def pairs(self) -> list[dict[str, object]]:
        """Two levers at a time that set no input both, by (the higher cost class, name); `first` and `second` count from 1."""
        found = [
            {"name": f"{one.name} + {other.name}", "cost_class": max(one.cost_class, other.cost_class), "first": first, "second": second}
            for (first, one), (second, other) in combinations(enumerate(self.levers, 1), 2)
            if not {*one.sets, *one.shares} & {*other.sets, *other.shares}
        ]
        return sorted(found, key=lambda pair: (pair["cost_class"], pair["name"]))


def load(root: Path = ROOT, book: Book = "finetune") -> Presets:
    """Load and check every preset of a book; of those of other books only the form is checked.

    Raises PresetError: file:line:column, what is wrong with which value, and the nearest valid name.
    """
    files = _files(root)
    documents = {path: load_yaml(path, PresetError) for path in files if path.suffix == ".yaml"}

    def folder(name: str) -> list[Document]:
        found = [document for path, document in documents.items() if path.parent == root / name]
        if name in KINDS:
            found = [document for document in found if book in _books(validate(KINDS[name], document))]
        return found

    architectures = validate(Architectures, documents[root / ARCHITECTURES])
    families = {document.path.stem: _family(document, architectures) for document in folder("families")}
    config_schema.check_names([(document, families[document.path.stem]) for document in folder("families")])
    models = [_model(document, families) for document in folder("models")]
    cards = [_card(document) for document in folder("cards")]
    for name in ("families", "models", "cards"):
        checks.unique((document, ("name",), document.data["name"]) for document in folder(name))
    for document in (*folder("models"), *folder("cards")):
        checks.file_name(document, *(document.data[key] for key in ("name", "hub_id") if key in document.data))
    offered = {"model": [model.name for model in models], "card": [card.name for card in cards]}
    choices, inputs, rules = _options(folder("options"), offered, book)
    return Presets(
        book=book,
        models=tuple(sorted(models, key=lambda model: (_brand(model.name), model.parameters.value, model.name))),
        cards=tuple(sorted(cards, key=lambda card: (card.memory.usable_mib, card.name))),
        families=families,
        inputs=inputs,
        rules=rules,
        choices=choices,
        constants=_constants(documents[root / CONSTANTS]),
        architectures=architectures,
        measured={document.path.stem: _measured(document, offered, inputs) for document in folder("measured")},
        levers=_levers(folder("levers"), inputs, offered),
        methods=_methods(folder("methods"), inputs, offered),
        scenarios=_scenarios(folder("scenarios"), inputs, offered, models, book),
        digest=digest(root, files),
    )


def _books(file) -> Sequence[Book]:
    """The books that a file is for: all where it does not say."""
    return getattr(file, "books", BOOKS)


def _brand(name: str) -> str:
    """The word that a model's name starts with: `llama` of `Llama 3.2 1B`."""
    return re.match(r"[a-z]*", name.casefold())[0]


def digest(root: Path, files: list[Path]) -> str:
    """SHA-256 over the relative path and the bytes of every file, in order."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def _files(root: Path) -> list[Path]:
    """Every preset file in order of its relative path; a file that no kind of preset claims is an error, hidden ones aside."""
    found = sorted(
        (path for path in root.rglob("*") if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts)),
        key=lambda path: path.relative_to(root).as_posix(),
    )
    for path in found:
        folder, _, name = path.relative_to(root).as_posix().rpartition("/")
        if not folder and name in (CONSTANTS, ARCHITECTURES):
            continue
        if folder not in FOLDERS:
            raise PresetError(f"no presets are read from '{folder or name}'{nearest(folder or name, [*FOLDERS, CONSTANTS, ARCHITECTURES])}", path)
        if path.suffix not in FOLDERS[folder]:
            raise PresetError(f"the file name '{name}' must end in {' or '.join(FOLDERS[folder])}", path)
        if not (OPTION_FILE if folder == "options" else SLUG).fullmatch(path.stem):
            raise PresetError(f"the file name '{path.stem}' is not a slug: lower-case letters, digits, dots and hyphens only", path)
    for name in (CONSTANTS, ARCHITECTURES):
        if root / name not in found:
            raise PresetError("no such file", root / name)
    return found


def _family(document: Document, architectures: Architectures) -> Family:
    family = validate(Family, document)
    checks.family(document, family)
    config_schema.check(document, family, architectures)
    return family


def _model(document: Document, families: Mapping[str, Family]) -> ModelPreset:
    file = validate(ModelFile, document)
    if file.family not in families:
        raise document.problem(("family",), f"family: '{file.family}' is not one of {', '.join(families)}{nearest(file.family, families)}")
    family = families[file.family]
    model = ModelPreset.model_construct(**dict(file), slug=document.path.stem, family_name=family.name)
    checks.model(document, model, family)
    return model


def _card(document: Document) -> CardPreset:
    file = validate(CardFile, document)
    card_checks.card(document, file)
    return CardPreset.model_construct(**dict(file), slug=document.path.stem)


def _constants(document: Document) -> dict[str, Constant]:
    constants = validate(ConstantsFile, document).root
    checks.unique((document, (index, "name"), constant.name) for index, constant in enumerate(constants))
    return {constant.name: constant for constant in constants}


def _options(documents: list[Document], offered: Mapping[str, list[str]], book: Book) -> tuple[dict[str, ChoiceList], tuple[Input, ...], tuple[Rule, ...]]:
    """Choice lists, inputs with their choices looked up, and rules, of all option files together."""
    files = [(document, validate(OptionFile, document)) for document in documents]
    checks.option_names(files)
    choices: dict[str, ChoiceList] = {}
    for document, file in files:
        for index, shared in enumerate(file.lists):
            checks.choices(document, ("lists", index, "choices"), shared.choices)
            choices[shared.name] = shared
        for index, spec in enumerate(file.inputs):
            if isinstance(spec.choices, list):
                checks.choices(document, ("inputs", index, "choices"), spec.choices)
                choices[spec.name] = ChoiceList.model_construct(name=spec.name, label=spec.label, choices=spec.choices, source=spec.source, date=spec.date)
    inputs = [_input(document, ("inputs", index), spec, choices, offered, book) for document, file in files for index, spec in enumerate(file.inputs)]
    return choices, tuple(sorted(inputs, key=lambda item: (item.step, item.order, item.name))), tuple(rule for _, file in files for rule in file.rules)


def _input(
    document: Document, keys: tuple, spec: InputSpec, choices: Mapping[str, ChoiceList], offered: Mapping[str, list[str]], book: Book,
) -> Input:
    checks.input_keys(document, keys, spec)
    found, name = None, None
    if spec.kind == "choice":
        name = spec.choices if isinstance(spec.choices, str) else spec.name
        if name not in choices:
            raise document.problem((*keys, "choices"), f"choices: no list is called '{name}'{nearest(name, choices)}")
        found = choices[name].choices
    default = spec.defaults.get(book, spec.default)
    item = Input.model_construct(**{**dict(spec), "choices": found, "default": default}, choices_name=name)
    checks.input_values(document, keys, item, [choice.name for choice in found] if found else offered.get(spec.kind))
    return item


def _measured(document: Document, offered: Mapping[str, list[str]], inputs: tuple[Input, ...]) -> Measured:
    file = validate(MeasuredFile, document)
    rows = read_rows(document.path.with_suffix(".csv"), inputs, offered)
    return Measured.model_construct(**dict(file), slug=document.path.stem, rows=rows)


def _levers(documents: Sequence[Document], inputs: tuple[Input, ...], offered: Mapping[str, list[str]]) -> tuple[Lever, ...]:
    levers = []
    for document in documents:
        file = validate(LeverFile, document)
        checks.lever(document, file, inputs)
        checks.typed(document, ("sets",), file.sets, inputs, offered)
        levers.append(Lever.model_construct(**dict(file), slug=document.path.stem))
    checks.unique((document, ("name",), lever.name) for document, lever in zip(documents, levers))
    return tuple(sorted(levers, key=lambda lever: (lever.cost_class, lever.name)))


def _methods(documents: Sequence[Document], inputs: tuple[Input, ...], offered: Mapping[str, list[str]]) -> tuple[Method, ...]:
    files = [(document, validate(MethodFile, document)) for document in documents]
    for document, file in files:
        checks.typed(document, ("sets",), file.sets, inputs, offered)
    checks.unique((document, ("name",), file.name) for document, file in files)
    files.sort(key=lambda each: (each[1].order, each[1].name))
    checks.methods(files)
    return tuple(Method.model_construct(**dict(file), slug=document.path.stem) for document, file in files)


def _scenarios(
    documents: Sequence[Document], inputs: tuple[Input, ...], offered: Mapping[str, list[str]], models: Sequence[ModelPreset], book: Book,
) -> tuple[Scenario, ...]:
    scenarios, names = [], []
    for document in documents:
        file = validate(ScenarioFile, document)
        checks.typed(document, ("common",), file.common, inputs, offered)
        for index, row in enumerate(file.rows):
            checks.typed(document, ("rows", index, "sets"), row.sets, inputs, offered)
            scenario = Scenario.model_construct(
                name=row.name, sets={**file.common, **row.sets}, slug=document.path.stem, source=file.source, date=file.date)
            checks.scenario(document, index, scenario, inputs, models, book)
            scenarios.append(scenario)
            names.append((document, ("rows", index, "name"), row.name))
    checks.unique(names)
    return tuple(scenarios)
