"""Real tables with categories, gaps and dates: learned as they are, from frames and files."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor, Landmarks
from real_data import real

pytestmark = [pytest.mark.real, pytest.mark.slow]

WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
AREAS = np.array(["Rawah", "Neota", "Comanche Peak", "Cache la Poudre"])


def arrays(name, rows, *more):
    """Some rows of a data set, drawn with a seed."""
    data = real(name)
    at = np.random.default_rng(0).permutation(len(data.y))[:rows]
    X = pd.DataFrame(data.X[at], columns=data.feature_names.tolist())
    return X, data.y[at], *(data[key] for key in more), at


def flights(rows):
    X, y, origin, destination, code, at = arrays(
        "us_flights_2001", rows, "origin", "destination", "airport_code"
    )
    X["origin"], X["destination"] = code[origin[at]], code[destination[at]]
    X["day_of_week"] = WEEKDAYS[X["day_of_week"] - 1]
    X["date"] = (
        "2001-" + X["month"].map("{:02d}".format) + "-" + X["day_of_month"].map("{:02d}".format)
    )
    return X, np.clip(y.astype(float), -30, 90)


def covtype(rows):
    X, y, _ = arrays("covtype", rows)
    found = X.iloc[:, :10].copy()
    found["wilderness"] = AREAS[X.iloc[:, 10:14].to_numpy().argmax(axis=1)]
    found["soil"] = [f"type {number}" for number in X.iloc[:, 14:].to_numpy().argmax(axis=1)]
    return found, y


def california(rows):
    X, y, _ = arrays("california_housing", rows)
    places = zip(X.pop("Latitude"), X.pop("Longitude"), strict=True)
    X["region"] = [f"{north:.0f}N {-east:.0f}W" for north, east in places]
    X.loc[::9, "AveRooms"] = np.nan
    return X, y


def learned(cls, X, y, train, **settings):
    """A model of the first rows, and its score on the others."""
    model = cls(basis=Landmarks(80), random_state=0, **settings).fit(X[:train], y[:train])
    return model, model.score(X[train:], y[train:])


def importances(model, X):
    """Importances by original column."""
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.feature_importances_.shape == (X.shape[1],)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.n_features_in_ == X.shape[1]
    return dict(zip(X.columns, model.feature_importances_, strict=True))


@pytest.mark.filterwarnings("ignore:of 1,000 rows")  # airports of the test rows only
def test_delays_of_flights():
    X, y = flights(3000)
    model, score = learned(KernelRegressor, X, y, 2000)
    words = dict(model.columns_.encoding_.describe())
    assert "an indicator each" in words["origin"]
    assert "an indicator each" in words["destination"]
    assert "7 levels: an indicator each" in words["day_of_week"]
    assert words["date"].startswith("date")
    assert score > 0.04  # delays are noisy; the mean has 0
    shares = importances(model, X)
    assert shares["date"] + shares["departure_minute_of_day"] > 0.3


@pytest.mark.filterwarnings("ignore:of 1,000 rows")
def test_covers_of_forests():
    X, y = covtype(3000)
    model, score = learned(KernelClassifier, X, y, 2000)
    majority = np.mean(y[2000:] == np.bincount(y[:2000]).argmax())
    assert score > majority + 0.1
    assert importances(model, X)["Elevation"] > 0.3
    words = dict(model.columns_.encoding_.describe())
    assert words["wilderness"] == "category of 4 levels: an indicator each"
    assert words["soil"].endswith("an indicator each")


@pytest.mark.filterwarnings("ignore:of 1,000 rows")
def test_houses_in_regions(tmp_path):
    X, y = california(3000)
    model, score = learned(KernelRegressor, X, y, 2000)
    assert score > 0.65
    shares = importances(model, X)
    assert max(shares, key=shares.get) == "MedInc"
    assert shares["region"] > 0.02
    X[:2000].assign(price=[f"${100_000 * value:,.0f}" for value in y[:2000]]).to_csv(
        tmp_path / "houses.csv", index=False
    )
    again = KernelRegressor(model.kernel_, Landmarks(80), random_state=0, metric=None, scale=None)
    again.fit(tmp_path / "houses.csv", "price")
    assert again.score(X[2000:], 1e5 * y[2000:]) == pytest.approx(score, abs=0.03)
