"""Model cards: what they say is what the model knows, and nothing of it is markup."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, r2_score

from mercer import (
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    load,
    model_card,
    save,
)
from mercer.inference.preferences import Pairs, fit_preferences
from mercer.inference.reliability import reliability_of
from mercer.metrics import ndcg, pairwise_error
from mercer.models.scores import (
    effective_rows,
    regression_metrics,
    resampled,
    share_metric,
)
from mercer.rows import ArraySource

RNG = np.random.default_rng(0)
ROWS = 240
FAST = {"alpha": 1e-3, "random_state": 0}
HOSTILE = "a|b`c`<script>alert(1)</script>\n# *x* [y](z)"
TABLE = pd.DataFrame(
    {
        "size": np.where(np.arange(ROWS) % 9 == 4, np.nan, RNG.uniform(40, 200, ROWS)),
        "rooms": RNG.integers(1, 7, ROWS).astype(float),
        HOSTILE: RNG.choice(["<b>Bath</b>", "E|ly", "$x$"], ROWS),
        "sold": pd.date_range("2024-01-01", periods=ROWS),
        "house": [f"H{number}" for number in range(ROWS)],
    }
)
PRICE = 10 * TABLE["rooms"] + 30 * (TABLE[HOSTILE] == "E|ly") + RNG.normal(size=ROWS)
X = RNG.uniform(size=(ROWS, 3))
LABEL = np.where(X[:, 0] + 0.2 * RNG.normal(size=ROWS) > 0.5, "yes", "n|o")
QUERY = np.repeat(np.arange(ROWS // 8), 8)
RELEVANCE = np.round(3 * X[:, 0] + RNG.normal(size=ROWS)).clip(0)


@pytest.fixture(scope="module")
def models():
    gauss = {"kernel": "gaussian", **FAST}
    with pytest.warns(UserWarning, match="'house' is left out"):
        table = KernelRegressor(**FAST).fit(TABLE[:180], PRICE[:180])
    two = np.column_stack([X[:, 0], X[:, 1] ** 2])
    shards = {"shards": 3, "combine": "average", "basis": Landmarks(20)}
    return {
        "table": table,
        "two outputs": KernelRegressor(**gauss).fit(X, two),
        "classes": KernelClassifier(**gauss).fit(X[:180], LABEL[:180]),
        "ranker": KernelRanker(**gauss).fit(X[:160], RELEVANCE[:160], QUERY[:160]),
        "average": KernelRegressor(**shards, **gauss).fit(X, X[:, 0]),
        "plain": KernelRegressor(basis=RandomFeatures(30), intervals=None, **gauss).fit(X, X[:, 0]),
        "uncalibrated": KernelClassifier(calibration=None, **gauss).fit(X, LABEL),
        "folds": KernelRegressor("gaussian", selection="kfold", intervals=None, random_state=0).fit(
            X, X[:, 0]
        ),
        "precomputed": KernelRegressor("precomputed", **FAST).fit(X @ X.T, X[:, 0]),
    }


def section(card, heading):
    """Return the text below a heading."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", card, re.M | re.S)
    assert found, heading
    return found[1]


def cells(text, name):
    """Return the row of a table that begins with a name."""
    row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def value_of(text, name):
    """Return a metric and the ends of its interval; percentages as shares."""
    found = []
    for part in [cells(text, name)[1], *cells(text, name)[2].split(" to ")]:
        share = part.endswith("%")
        found.append(float(part.rstrip(" %").replace(",", "")) / (100 if share else 1))
    return found


HEADINGS = [
    "Intended use",
    "Training data",
    "Choices and why",
    "Metrics",
    "Importances",
    "How to use it",
    "Limitations",
    "Versions",
]
KINDS = (
    "table", "two outputs", "classes", "ranker", "average",
    "plain", "uncalibrated", "folds", "precomputed",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_has_the_same_card_with_all_sections(models, kind, tmp_path):
    card = model_card(models[kind])
    headings = re.findall(r"^## (.*)$", card, re.M)
    assert headings == HEADINGS
    again = load(save(models[kind], tmp_path / "saved"))
    # What shards sent is not in a file, and neither card says when it was made.
    without = [re.sub(r"\| shards \|.*", "", text) for text in (card, model_card(again))]
    assert without[0] == without[1]
    assert "nan" not in card.lower().replace("not", "")
    for name, value in models[kind].summary().rows:
        if name in ("kernel", "basis", "alpha"):
            assert cells(section(card, "Choices and why"), name)[1].startswith(value[:20])


def test_card_of_a_file_names_the_file_and_its_version(models, tmp_path):
    path = save(models["table"], tmp_path / "houses")
    card = model_card(path)
    assert card.startswith("# Model card: houses\n")
    assert "mercer.load('houses.mercer')" in section(card, "How to use it")
    assert "model file written by mercer" in section(card, "Versions")
    assert model_card(path, title="Ely").startswith("# Model card: Ely\n")


def test_data_are_described_by_what_the_encoders_learned(models):
    text = section(model_card(models["table"], target="price"), "Training data")
    train = TABLE[:180]
    gaps = int(train["size"].isna().sum())
    kind, values, missing, became = cells(text, "size")[1:]
    assert (kind, missing) == ("number", str(gaps))
    assert values.startswith(f"{train['size'].min():.4g} to {train['size'].max():.4g}")
    assert f"gaps become {train['size'].mean():.4g}" in became
    assert cells(text, "sold")[2] == "2024-01-01 to 2024-06-28"
    assert cells(text, "house")[1] == "left out"
    share = 100 * (train[HOSTILE] == "E|ly").mean()
    assert f"E\\|ly {share:.1f} %" in text
    assert "the target, price, is a number" in text
    assert "keeps no rows" in section(model_card(models["plain"]), "Training data")


def test_no_name_or_level_becomes_markup(models):
    card = model_card(models["table"], target="<i>*a*|b\n# c", title="`t`")
    assert "<script>" not in card
    assert "<b>" not in card
    assert "<i>" not in card
    assert "\\$x\\$" in card
    for line in card.splitlines():
        assert not line.startswith("# ") or line == "# Model card: \\`t\\`"
    rows = [line for line in section(card, "Training data").splitlines() if line[:1] == "|"]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_metrics_of_new_regression_rows(models):
    model, new, y = models["table"], TABLE[180:], PRICE[180:].to_numpy()
    card = model_card(model, new, y)
    assert card == model_card(model, new, y)
    text = section(card, "On new rows")
    predicted = model.predict(new)
    value, low, high = value_of(text, "RMSE")
    assert value == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)), rel=1e-3)
    assert low < value < high
    assert value_of(text, "R²")[0] == pytest.approx(r2_score(y, predicted), rel=1e-3)
    ends = model.predict_interval(new, 0.8)
    share = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
    found, low, high = value_of(text, "in the 80 % interval")
    assert found == pytest.approx(share, abs=1e-3)
    assert low < share < high
    named = model_card(model, new.assign(price=y), "price")
    assert section(named, "On new rows") == text


def test_metrics_of_left_out_rows_are_those_of_the_record(models):
    rows, targets = models["table"].fit_.intervals.rows, models["table"]._targets
    text = section(model_card(models["table"]), "On rows that the fit left out")
    rmse = np.sqrt(np.mean(rows.errors**2)) * targets.scale[0]
    value, low, high = value_of(text, "RMSE")
    assert value == pytest.approx(rmse, rel=1e-3)
    assert low < value < high
    inside = models["table"].fit_.intervals.left_out_coverage(0.9)
    assert value_of(text, "in the 90 % interval")[0] == pytest.approx(inside, abs=1e-3)
    several = section(model_card(models["two outputs"]), "On rows that the fit left out")
    assert {"output 0", "output 1"} <= {line.split("|")[1].strip() for line in several.splitlines()
                                        if line.startswith("| output")}  # fmt: skip
    folds = models["folds"].cv_results_
    text = section(model_card(models["folds"]), "On rows that the fit left out")
    best = np.sqrt(folds["mean_squared_error"].min())
    assert value_of(text, "RMSE")[0] == pytest.approx(best, rel=1e-3)
    plain = section(model_card(models["plain"]), "On rows that the fit left out")
    assert "keeps nothing of rows" in plain


def test_metrics_of_classes(models):
    model, new, label = models["classes"], X[180:], LABEL[180:]
    card = model_card(model, new, label)
    text = section(card, "On new rows")
    accuracy, low, high = value_of(text, "accuracy")
    assert accuracy == pytest.approx(accuracy_score(label, model.predict(new)), abs=1e-3)
    assert low < accuracy < high
    loss = log_loss(label, model.predict_proba(new), labels=model.classes_)
    assert value_of(text, "log loss")[0] == pytest.approx(loss, rel=1e-3)
    known = model.calibration_.reliability
    text = section(card, "On rows that the fit left out")
    value, low, high = value_of(text, "Brier score")
    assert value == pytest.approx(known.brier, rel=1e-3)
    assert (high - low) / (2 * 1.96) == pytest.approx(known.standard_errors[1], rel=0.02)
    assert cells(section(card, "Training data"), "n\\|o")[0] == "n\\|o"
    with pytest.raises(ValueError, match="class that is not known: 'maybe'"):
        model_card(model, new, np.where(label == "yes", "maybe", label))


def test_metrics_of_rankings_resample_queries(models):
    model, rows = models["ranker"], slice(160, ROWS)
    card = model_card(model, X[rows], RELEVANCE[rows], qid=QUERY[rows])
    text, scores = section(card, "On new rows"), model.predict(X[rows])
    error, low, high = value_of(text, "pairs in the wrong order")
    wanted = pairwise_error(RELEVANCE[rows], scores, QUERY[rows])
    assert error == pytest.approx(wanted, abs=1e-3)
    assert low < error < high
    found = value_of(text, "NDCG@10")[0]
    assert found == pytest.approx(ndcg(RELEVANCE[rows], scores, QUERY[rows]), rel=1e-3)
    left = value_of(section(card, "On rows that the fit left out"), "pairs in the wrong order")
    assert left[0] == pytest.approx(model.calibration_.error, abs=1e-3)
    one = section(model_card(model, X[rows], RELEVANCE[rows]), "On new rows")
    assert "give qid" in one


def test_importances_are_sorted_shares_or_a_reason(models):
    text = section(model_card(models["table"]), "Importances")
    shares = models["table"].feature_importances_
    best = models["table"].feature_names_in_[shares.argmax()]
    first = next(line for line in text.splitlines() if "\N{FULL BLOCK}" in line)
    assert first.startswith(f"| {best} | {100 * shares.max():.1f} % | {'█' * 20}")
    assert "Not available" in section(model_card(models["precomputed"]), "Importances")


def test_wrong_input_is_refused(models):
    with pytest.raises(ValueError, match="which is missing"):
        model_card(models["table"], y=PRICE)
    with pytest.raises(ValueError, match="metrics need targets"):
        model_card(models["plain"], ArraySource(X))
    with pytest.raises(ValueError, match="positive weight are needed, got none"):
        model_card(models["plain"], ArraySource(X, np.full(ROWS, np.nan)))
    with pytest.raises(TypeError, match="needs a fitted"):
        model_card(np.zeros(3))


# -- intervals ---------------------------------------------------------------------------------


def test_intervals_cover_the_truth():
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, noise = rng.normal(size=(2, 150))
        (rmse, _, r2) = regression_metrics(y, y + 0.5 * noise, np.ones(150))
        inside += (rmse.low < 0.5 < rmse.high) + (r2.low < 0.75 < r2.high)
    assert 0.88 < inside / 120 <= 1.0


def test_groups_of_rows_vary_as_rows_do():
    square = np.random.default_rng(0).normal(size=20_000) ** 2
    mean = {"mean": lambda sums: sums[:, 1] / sums[:, 0]}
    (found,) = resampled(square[:, None], np.ones(20_000), mean)
    wanted = 2 * 1.96 * square.std() / np.sqrt(20_000)
    assert found.high - found.low == pytest.approx(wanted, rel=0.1)


def test_few_rows_have_no_interval_and_weights_count():
    found = share_metric("accuracy", 0.5, 4)
    assert np.isnan(found.low)
    assert all(np.isnan(m.low) for m in regression_metrics(np.arange(5.0), np.ones(5), np.ones(5)))
    assert effective_rows(np.array([1.0, 1.0, 1e-9])) == pytest.approx(2.0)


def test_ends_of_the_interval_of_a_share_are_those_it_may_be_drawn_from():
    for share, rows in ((0.9, 50), (0.02, 200), (0.5, 11)):
        found = share_metric("accuracy", share, rows)
        for p in (found.low, found.high):  # Wilson: z standard deviations away, of the end itself
            assert abs(share - p) == pytest.approx(1.959964 * np.sqrt(p * (1 - p) / rows))


def test_standard_errors_of_probabilities_and_pairs_match_repeated_draws():
    rng = np.random.default_rng(0)
    losses, errors, pair_errors, pair_sd = [], [], [], []
    for _ in range(200):
        p = rng.uniform(0.05, 0.95, 300)
        codes = (rng.random(300) < p).astype(int)
        found = reliability_of(np.log(np.column_stack([1 - p, p])), codes, np.full(300, 7.0))
        losses.append(found.log_loss)
        errors.append(found.standard_errors[0])
        group = np.repeat(np.arange(30), 10)
        d = rng.normal(size=30)[group] + rng.normal(size=300) + 0.5  # pairs of a query are alike
        pairs = fit_preferences(Pairs(d, np.full(300, 2.0), group))
        pair_errors.append(pairs.error)
        pair_sd.append(pairs.error_deviation)
    assert np.mean(errors) == pytest.approx(np.std(losses), rel=0.15)
    assert np.mean(pair_sd) == pytest.approx(np.std(pair_errors), rel=0.15)
    assert fit_preferences(Pairs(d, np.ones(300), group % 5)).error_deviation is None
