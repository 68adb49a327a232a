"""A classifier with the methods of scikit-learn, which need not be installed."""

import inspect

import numpy

from troika.context import Context
from troika.data import Dataset
from troika.model import Model


class Classifier:
    """fit(X, y), predict(X), predict_proba(X), score(X, y). Works in scikit-learn's pipelines and searches.

    `model` is the name of a model of the zoo, or a function (context, shape, classes) that returns a
    Model. X is [n, features] or [n, c, h, w]; y has labels of any kind. Options that are not named
    here are those of TrainerOptions, as a dictionary.
    """

    def __init__(self, model="mlp", devices="cpu:0", epochs=10, batch_size=64, optimizer="adam", learning_rate=0.001, seed=0,
                 options=None, progress=None):
        self.model = model
        self.devices = devices
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.seed = seed
        self.options = options
        self.progress = progress

    def __sklearn_tags__(self):
        from sklearn.base import BaseEstimator, ClassifierMixin  # pylint: disable=import-outside-toplevel

        class Tags(ClassifierMixin, BaseEstimator):
            """The tags of any classifier. Deriving from these would import scikit-learn with the package."""

        return Tags().__sklearn_tags__()

    def get_params(self, deep=True):  # pylint: disable=unused-argument
        """The arguments of the constructor by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters):
        """Changes arguments of the constructor."""
        names = inspect.signature(type(self)).parameters
        for name, value in parameters.items():
            if name not in names:
                raise ValueError(f"Classifier has no parameter '{name}'; there are {', '.join(names)}")
            setattr(self, name, value)
        return self

    def _images(self, inputs):
        """X as f32 [n, c, h, w]: a table is an image of one row."""
        inputs = numpy.asarray(inputs, numpy.float32)
        if inputs.ndim not in (2, 4):
            raise ValueError(f"X is {list(inputs.shape)}; need [n, features] or [n, c, h, w]")
        return inputs.reshape(len(inputs), 1, 1, -1) if inputs.ndim == 2 else inputs

    def _build(self, context, shape, classes):
        if callable(self.model):
            return self.model(context, shape, classes)
        channels, height, width = shape
        return Model(context, self.model, classes=classes, input_channels=channels, input_height=height, input_width=width)

    def fit(self, X, y):  # pylint: disable=invalid-name
        """Trains a new model. Returns self."""
        images = self._images(X)
        # pylint: disable=attribute-defined-outside-init
        self.classes_, labels = numpy.unique(numpy.asarray(y), return_inverse=True)
        self.n_features_in_ = int(numpy.prod(images.shape[1:]))
        context = Context(seed=self.seed)
        self.model_ = self._build(context, images.shape[1:], len(self.classes_))
        loader = Dataset.from_arrays(context, images, labels).loader(batch=self.batch_size, shuffle=True, seed=self.seed)
        trainer = self.model_.attach(self.devices, optimizer=self.optimizer, learning_rate=self.learning_rate, seed=self.seed,
                                     **(self.options or {}))
        self.history_ = [trainer.train_epoch(loader, self.progress) for _ in range(self.epochs)]
        self.model_ = trainer.unwrap()
        return self

    def decision_function(self, X):  # pylint: disable=invalid-name
        """The outputs of the model, [n, classes]."""
        if not hasattr(self, "model_"):
            raise ValueError("the classifier is not fitted; call fit first")
        return self.model_.predict(self._images(X))

    def predict_proba(self, X):  # pylint: disable=invalid-name
        """Probabilities [n, classes]: the softmax of the outputs."""
        outputs = self.decision_function(X).astype(numpy.float64)
        powers = numpy.exp(outputs - outputs.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X):  # pylint: disable=invalid-name
        """The most probable class of each sample."""
        winners = self.decision_function(X).argmax(axis=1)
        return self.classes_[winners]

    def score(self, X, y):  # pylint: disable=invalid-name
        """The part of the samples whose class is predicted."""
        return float((self.predict(X) == numpy.asarray(y)).mean())
