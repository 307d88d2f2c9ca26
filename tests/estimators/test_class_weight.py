"""Weights of classes multiply the weights of rows, wherever the rows are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

from cases import PLAIN, rows
from mercer import Gaussian, KernelClassifier, Landmarks, PreconditionedCG, load, save
from mercer.opening.weighing import balanced_factors

X = rows(90)
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.45, 0.8])]
WEIGHT = np.random.default_rng(3).integers(1, 4, 90).astype(float)
NEW = rows(20, seed=9)
WEIGHTS = {"dict": {"a": 3.0, "c": 0.5}, "balanced": "balanced", "zero": {"b": 0.0}}
#: name -> parameters, and what fit takes besides the rows
FORMS = {
    "kernel matrix": ({"basis": "full"}, {}),
    "moments": ({}, {}),
    "products": ({"solver": PreconditionedCG(1e-13)}, {}),
    "shards": ({}, {"shard_labels": np.arange(90) // 30}),
    "file": ({"columns": None}, {}),
    "shards of a file": ({"columns": None, "shards": 3}, {}),
}


def model(**settings):
    return KernelClassifier(
        Gaussian(0.5),
        **{"basis": Landmarks(sampling=X[::8]), "alpha": 1e-2, **settings},
        **PLAIN,
        dtype="float64",
        random_state=0,
    )


def scores(found):
    return found.decision_function(NEW)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dict", "balanced"])
def test_they_multiply_the_weights_of_rows(name, form, tmp_path):
    own, more = FORMS[form]
    found = model(class_weight=WEIGHTS[name], **own)
    if "file" in form:
        np.savez(tmp_path / "rows.npz", X=X, y=LABELS, w=WEIGHT)
        found.fit(tmp_path / "rows.npz", "y", "w")
    else:
        found.fit(X, LABELS, WEIGHT, **more)
    repeated = np.repeat(LABELS, WEIGHT.astype(int))
    by_hand = dict(
        zip(repeated, compute_sample_weight(WEIGHTS[name], repeated), strict=True)
    )  # rows of weight 2 count twice
    weight = WEIGHT * np.array([by_hand[label] for label in LABELS])
    other = model(**FORMS[form][0] if "file" not in form else {}).fit(X, LABELS, weight)
    np.testing.assert_allclose(scores(found), scores(other), atol=1e-7)


def test_a_class_of_weight_zero_is_never_seen():
    found = model(class_weight=WEIGHTS["zero"]).fit(X, LABELS)
    other = model().fit(X[LABELS != "b"], LABELS[LABELS != "b"])
    np.testing.assert_allclose(scores(found)[:, 2], scores(other), atol=1e-9)
    np.testing.assert_allclose(scores(found)[:, 1], -1.0)


def test_balanced_classes_weigh_the_same_and_keep_the_sum():
    totals = np.array([5.0, 0.0, 1.0, 2.0])
    factors = balanced_factors(totals)
    np.testing.assert_allclose(factors * totals, [8 / 3, 0, 8 / 3, 8 / 3])


def test_unlabelled_rows_keep_their_weight():
    labels = LABELS.astype(object)
    labels[::4] = None
    found = model(class_weight={"a": 2.0}, unlabelled="use").fit(X, labels)
    weight = np.where(labels == "a", 2.0, 1.0)
    other = model(unlabelled="use").fit(X, labels, weight)
    np.testing.assert_allclose(scores(found), scores(other), atol=1e-9)


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_they_count_where_columns_are_learned(kind, shards, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": X[:, 0], "town": rng.choice(["u", "v", "w"], 90), "y": LABELS})
    table.loc[::7, "x"] = np.nan
    table["w"] = np.where(LABELS == "a", 3.0, 1.0)
    given = table.drop(columns="w")
    if kind == "file":
        given.to_csv(tmp_path / "rows.csv", index=False)
        given = tmp_path / "rows.csv"
    settings = {"basis": "landmarks", "alpha": 1e-2, "shards": shards, "random_state": 0}
    found = KernelClassifier(class_weight={"a": 3.0}, **settings).fit(given, "y")
    other = KernelClassifier(**settings)
    other.fit(table.drop(columns=["y", "w"]), table["y"], table["w"])
    new = table.drop(columns=["y", "w"])
    np.testing.assert_allclose(
        found.decision_function(new), other.decision_function(new), atol=1e-3
    )


def test_rows_are_added_and_forgotten_with_the_weights_of_their_classes():
    found = model(class_weight={"a": 2.0, "b": 0.5}, remember_rows=True)
    found.partial_fit(X[:60], LABELS[:60]).partial_fit(X[60:], LABELS[60:])
    whole = model(class_weight={"a": 2.0, "b": 0.5}).fit(X, LABELS)
    np.testing.assert_allclose(scores(found), scores(whole), atol=1e-7)
    found.forget(X[60:], LABELS[60:])
    fewer = model(class_weight={"a": 2.0, "b": 0.5}).fit(X[:60], LABELS[:60])
    np.testing.assert_allclose(scores(found), scores(fewer), atol=1e-7)
    with pytest.raises(ValueError, match="class_weight was set to something else"):
        found.set_params(class_weight=None).partial_fit(X, LABELS)


def test_balanced_needs_all_rows():
    found = model(class_weight="balanced")
    assert not hasattr(found, "partial_fit")
    with pytest.raises(AttributeError) as error:
        found.fit(X, LABELS).forget(X[:5], LABELS[:5])
    assert "is not supported by partial_fit" in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("even", ValueError, "None, 'balanced' or a dict"),
        ([1.0, 2.0], ValueError, "None, 'balanced' or a dict"),
        ({"a": -1.0}, ValueError, r"class_weight\['a'\] must be a finite number at least 0"),
        ({"a": "2"}, TypeError, r"class_weight\['a'\] must be a number"),
        ({"A": 2.0}, ValueError, "class that y does not have: 'A'"),
        ({"a": 0, "b": 0, "c": 0}, ValueError, "positive for at least one class"),
    ],
    ids=str,
)
def test_others_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        model(class_weight=given).fit(X, LABELS)


def test_classes_without_rows_may_be_named_if_all_others_are():
    given = {"a": 2.0, "b": 1.0, "c": 1.0, "d": 5.0}
    found = model(class_weight=given).fit(X, LABELS)
    other = model(class_weight={"a": 2.0}).fit(X, LABELS)
    np.testing.assert_array_equal(scores(found), scores(other))


@pytest.mark.parametrize("given", WEIGHTS.values(), ids=WEIGHTS)
def test_files_keep_them(given, tmp_path):
    found = model(class_weight=given).fit(X, LABELS)
    again = load(save(found, tmp_path / "model"))
    assert again.class_weight == given
    np.testing.assert_array_equal(scores(again), scores(found))


def test_integers_are_classes_too(tmp_path):
    codes = np.searchsorted(["a", "b", "c"], LABELS)
    found = model(class_weight={0: 3.0, 2: 0.5}).fit(X, codes)
    again = load(save(found, tmp_path / "model"))
    assert again.class_weight == {0: 3.0, 2: 0.5}
    np.testing.assert_array_equal(scores(again.fit(X, codes)), scores(found))


@pytest.mark.parametrize("settings", [{}, {"basis": "landmarks"}, {"shards": 2}], ids=str)
def test_scikit_learn_checks_of_class_weights(settings):
    check_class_weight_classifiers("KernelClassifier", KernelClassifier(**settings))
