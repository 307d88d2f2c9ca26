"""Other kernel methods as their own pages show them, with ``fit`` and ``predict``.

GPyTorch has no estimator: a model is written by hand, and this is the one of its first regression
example. xRFM is at its defaults, with a fifth of the rows to validate on, as its first example has
it. Both get standardized columns, and the Gaussian process a standardized target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

#: Steps of the example of GPyTorch, and their size.
STEPS, RATE = 50, 0.1


class XRFM:
    """xRFM at its defaults: kernels that learn their metric from gradients, on leaves of a tree."""

    def __init__(self, classes: bool, seed: int) -> None:
        self.classes, self.seed = classes, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> XRFM:
        """Fit four fifths of the rows, and validate on the others."""
        from xrfm import xRFM

        split = {"test_size": 0.2, "random_state": self.seed}
        X, held, y, kept = train_test_split(X, y, **split)
        self.scaler = StandardScaler().fit(X)
        targets = (np.int64, np.float32)[not self.classes]
        self.model = xRFM(random_state=self.seed, verbose=False)
        self.model.fit(
            self._columns(X), y.astype(targets), self._columns(held), kept.astype(targets)
        )
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return numbers, or classes."""
        return np.asarray(self.model.predict(self._columns(X)))

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.scaler.transform(X), dtype=np.float32)


class GaussianProcess:
    """An exact Gaussian process of GPyTorch with a constant mean and a scaled RBF kernel."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> GaussianProcess:
        """Maximize the marginal likelihood of standardized rows."""
        import gpytorch
        import torch

        torch.manual_seed(self.seed)
        self.scaler, self.target = StandardScaler().fit(X), (y.mean(), y.std())
        x = torch.tensor(self.scaler.transform(X), dtype=torch.float32)
        t = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.model = exact_model(x, t, likelihood)
        self.model.train()
        marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, self.model)
        steps = torch.optim.Adam(self.model.parameters(), lr=RATE)
        for _ in range(STEPS):
            steps.zero_grad()
            loss = -marginal(self.model(x), t)
            loss.backward()
            steps.step()
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the means of the process."""
        import gpytorch
        import torch

        x = torch.tensor(self.scaler.transform(X), dtype=torch.float32)
        self.model.eval()
        with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
            means = self.model(x).mean.numpy()
        mean, spread = self.target
        return np.asarray(means * spread + mean)


def exact_model(x: Any, t: Any, likelihood: Any) -> Any:
    """Return the model of GPyTorch's first example."""
    from gpytorch import distributions, kernels, means, models

    class Exact(models.ExactGP):
        def __init__(self) -> None:
            super().__init__(x, t, likelihood)
            self.mean = means.ConstantMean()
            self.kernel = kernels.ScaleKernel(kernels.RBFKernel())

        def forward(self, rows: Any) -> Any:
            return distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

    return Exact()
