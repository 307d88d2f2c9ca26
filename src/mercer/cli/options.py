"""Options that several commands share, each defined once.

A command takes a group of options as one parameter, and :func:`with_groups` turns every field of
the group into an option of the command line.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from mercer.bases import BASES, BasisTransformer, Landmarks
from mercer.columns.learning import KINDS
from mercer.estimators.parameters import PARAMETERS
from mercer.kernels import KERNELS, Kernel, as_kernel
from mercer.kernels.kernel import ESTIMATED
from mercer.validation import check_choice

Data = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv, .parquet, .npy, .npz or .svm file, a folder, or - for CSV from "
        "standard input."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model from mercer fit or mercer.save.")]
Target = Annotated[
    str | None, typer.Option(help="The target column (.npz: an array; .npy: another file).")
]
Weight = Annotated[str | None, typer.Option("--weight", help="The column of sample weights.")]
Task = Annotated[
    str,
    typer.Option(
        "--task",
        help="auto, regression or classification.",
        autocompletion=lambda: ["auto", "regression", "classification"],
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON value instead of tables, for scripts.")
]

Force = Annotated[
    bool, typer.Option("--force", help="Replace the file of --out, whatever it is; no input.")
]
RawText = Annotated[
    bool,
    typer.Option(
        "--raw-text", help="Write text to CSV as it is, even if a spreadsheet may run it."
    ),
]


@dataclass(frozen=True)
class DialectOptions:
    """How delimited text is written; what is not given is sniffed."""

    panel: ClassVar[str] = "Reading the file"

    delimiter: Annotated[
        str | None,
        typer.Option(help="The character between values of a .csv file. Default: sniffed."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="The decimal sign, . or , Default: sniffed.")
    ] = None

    def dialect(self) -> dict[str, Any]:
        """Return what was given, for functions that open files."""
        return {"delimiter": self.delimiter, "decimal": self.decimal}


@dataclass(frozen=True)
class TableOptions(DialectOptions):
    """Which columns are features, and what they are."""

    columns: Annotated[
        str | None, typer.Option(help="The feature columns, separated by commas. Default: all.")
    ] = None
    exclude: Annotated[
        str | None, typer.Option(help="Columns that are no features, separated by commas.")
    ] = None
    ids: Annotated[
        str | None, typer.Option("--id", help="A column that identifies rows, and is no feature.")
    ] = None
    types: Annotated[
        str | None,
        typer.Option(
            help=f"What columns are, as in zip=category,sold=date. Kinds: {', '.join(KINDS)}."
        ),
    ] = None

    def kinds(self) -> dict[str, str]:
        """Return what ``--types`` says of some columns.

        >>> TableOptions(types="zip=category, sold=date").kinds()
        {'zip': 'category', 'sold': 'date'}
        """
        found = {}
        for part in split_names(self.types) or []:
            name, equals, kind = part.rpartition("=")
            if not equals or not name.strip():
                raise ValueError(
                    f"--types must be columns with their kinds, as in zip=category,sold=date, got "
                    f"{part!r}"
                )
            found[name.strip()] = check_choice(kind.strip(), f"kind of {name.strip()!r}", KINDS)
        return found

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an estimator."""
        return {"columns": self.kinds() or "auto"}


def flag(name: str) -> Any:
    """Return the option of a parameter, with its sentence of the table of parameters."""
    return typer.Option(help=PARAMETERS[name].help)


def parameters_of(*groups: ParameterOptions | TableOptions) -> dict[str, Any]:
    """Return the parameters of an estimator that groups of options are."""
    return {name: value for group in groups for name, value in group.parameters().items()}


class ParameterOptions:
    """A group of options that are parameters of an estimator, of the same names."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an estimator."""
        found = {}
        for name, text in vars(self).items():
            known = PARAMETERS.get(name)
            if known is not None and known.help:
                found[name] = known.from_text(text, f"--{name.replace('_', '-')}")
        return found


@dataclass(frozen=True)
class GapOptions(ParameterOptions):
    """What becomes of missing values."""

    panel: ClassVar[str] = DialectOptions.panel

    missing: Annotated[str, flag("missing")] = "fill"
    unlabelled: Annotated[str, flag("unlabelled")] = "drop"


def number_or(word: str, option: str, text: str) -> float | str:
    """Return a number, or ``word`` if the text is that word.

    >>> number_or("auto", "--alpha", "1e-3"), number_or("auto", "--alpha", "auto")
    (0.001, 'auto')
    """
    if text == word:
        return word
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{option} must be a number or {word!r}, got {text!r}") from error


def build_kernel(name: str, bandwidth: str | None) -> str | Kernel:
    """Return the kernel, with its bandwidth if one was given; "auto" stays as it is."""
    usable = [kernel for kernel in KERNELS if kernel != "precomputed"]
    check_choice(name, "--kernel", ["auto", *usable])
    if name == "auto":
        if bandwidth not in (None, "auto"):
            raise ValueError("--bandwidth must be left out for --kernel auto: name a kernel too")
        return name
    kernel = as_kernel(name)
    if bandwidth is None:
        return kernel
    if "bandwidth" not in kernel.get_params():
        raise ValueError(f"--bandwidth must be left out for the {name} kernel, which has none")
    estimated = bandwidth in ESTIMATED
    value = bandwidth if estimated else number_or("median", "--bandwidth", bandwidth)
    kernel.set_params(bandwidth=value)
    return kernel


def build_basis(name: str, components: int | None) -> str | BasisTransformer:
    """Return the basis, with its number of functions if one was given."""
    check_choice(name, "--basis", ["auto", *BASES])
    if components is None:
        return name
    if name == "auto":
        return Landmarks(components)
    if "n_components" not in BASES[name]().get_params():
        raise ValueError(
            f"--components must be left out for --basis {name}, which has one function per row"
        )
    basis: BasisTransformer = BASES[name]().set_params(n_components=components)
    return basis


@dataclass(frozen=True)
class ModelOptions(ParameterOptions):
    """Where the solution may live, and its penalty: kernel, basis and alpha."""

    panel: ClassVar[str] = "Kernel, basis and penalty"

    kernel: Annotated[str, typer.Option(help="The kernel, by name.")] = "gaussian"
    bandwidth: Annotated[
        str | None,
        typer.Option(help="A number, auto to choose it, or median: that of the distances."),
    ] = None
    basis: Annotated[
        str, typer.Option(help="auto, full, landmarks, random_features or sketch.")
    ] = "auto"
    components: Annotated[
        int | None, typer.Option(help="The number of landmarks, random features or sketches.")
    ] = None
    alpha: Annotated[str, typer.Option(help="The penalty, or auto to choose it.")] = "auto"
    seed: Annotated[int, typer.Option(help="The seed of all random choices.")] = 0

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an estimator."""
        return {
            **super().parameters(),
            "kernel": build_kernel(self.kernel, self.bandwidth),
            "basis": build_basis(self.basis, self.components),
            "alpha": number_or("auto", "--alpha", self.alpha),
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class LearnedOptions(ModelOptions):
    """The same where there is a target to learn from: kernel and metric can be chosen too."""

    kernel: Annotated[str, typer.Option(help="The kernel by name, or auto to choose it.")] = "auto"
    metric: Annotated[str, flag("metric")] = "auto"
    scale: Annotated[str, flag("scale")] = "auto"


@dataclass(frozen=True)
class SolverOptions(ParameterOptions):
    """How the system is solved and alpha chosen, and how shards are combined."""

    panel: ClassVar[str] = "Solving"

    solver: Annotated[str, flag("solver")] = "auto"
    selection: Annotated[str, flag("selection")] = "auto"
    dtype: Annotated[str, flag("dtype")] = "auto"
    combine: Annotated[str, flag("combine")] = "sum"
    rounds: Annotated[int, flag("rounds")] = 8


@dataclass(frozen=True)
class ComputeOptions(ParameterOptions):
    """Where the work is done, and how much memory it may take."""

    panel: ClassVar[str] = "Memory, shards and cluster"

    memory_limit: Annotated[str, flag("memory_limit")] = "auto"
    shards: Annotated[int | None, flag("shards")] = None
    engine: Annotated[str | None, flag("engine")] = None

    def reachable(self, path: Path) -> Path:
        """Return a path that workers can open, which may run in another folder."""
        return path if self.engine is None else path.absolute()


def split_names(columns: str | None) -> list[str] | None:
    """Return the names in ``--columns``, or None for all columns.

    >>> split_names("width, height"), split_names(None)
    (['width', 'height'], None)
    """
    return None if columns is None else [name.strip() for name in columns.split(",")]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose groups of options are options of their own.

    >>> @with_groups
    ... def show(compute: ComputeOptions) -> None:
    ...     print(compute)
    >>> list(signature(show).parameters)
    ['memory_limit', 'shards', 'engine']
    >>> show(memory_limit="2GB", shards=3, engine=None)
    ComputeOptions(memory_limit='2GB', shards=3, engine=None)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    options: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            groups[parameter.name] = hint
            types = get_type_hints(hint, include_extras=True)
            panel = groups[parameter.name].panel
            options += [_option(field.name, field.default, types, panel) for field in fields(hint)]
        else:
            options.append(_option(parameter.name, parameter.default, hints))

    @wraps(command)
    def flat(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    flat.__signature__ = Signature(options)  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


def _option(
    name: str, default: object, types: dict[str, Any], panel: str | None = None
) -> Parameter:
    """Return an option of the command line; ``panel`` is its part of the help."""
    hint = types[name]
    if panel is not None:
        kind, info = get_args(hint)
        info = copy.copy(info)
        info.rich_help_panel = panel
        hint = Annotated[kind, info]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
