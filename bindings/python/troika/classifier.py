"""A classifier with the methods of scikit-learn, which need not be installed."""

import collections.abc
import inspect
import reprlib

import numpy

from troika._call import found
from troika.arrays import as_array
from troika.context import Context
from troika.data import Dataset
from troika.model import Model


class Classifier:
    """fit(X, y), predict(X), predict_proba(X), score(X, y). Works in scikit-learn's pipelines and searches.

    `model` is the name of a model of the zoo, or a function (context, shape, classes) that returns a
    Model. X is [n, features] or [n, c, h, w]; y has labels of any kind. `class_weight` multiplies the
    losses of classes: a dictionary of labels, in which a label that is absent has 1, or "balanced".
    That is n / (classes * count) for each class. Options that are not named here are those of
    TrainerOptions, as a dictionary.
    """

    def __init__(self, model="mlp", devices="cpu:0", epochs=10, batch_size=64, optimizer="adam", learning_rate=0.001, seed=0,
                 options=None, progress=None, class_weight=None):
        self.model = model
        self.devices = devices
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.seed = seed
        self.options = options
        self.progress = progress
        self.class_weight = class_weight

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
        inputs = numpy.asarray(inputs)
        if inputs.dtype == object:  # a table with columns of several kinds, as scikit-learn takes it
            inputs = inputs.astype(numpy.float64)
        inputs = as_array(inputs, numpy.float32, "X")
        if inputs.ndim not in (2, 4):
            raise ValueError(f"X is {list(inputs.shape)}; need [n, features] or [n, c, h, w]")
        return inputs.reshape(len(inputs), 1, 1, -1) if inputs.ndim == 2 else inputs

    def _build(self, context, shape, classes):
        if callable(self.model):
            return self.model(context, shape, classes)
        channels, height, width = shape
        return Model(context, self.model, classes=classes, input_channels=channels, input_height=height, input_width=width)

    def _weights_of_classes(self, labels):
        """The weight of each class, for `labels` that count classes from 0; None: 1 each."""
        wanted, classes = self.class_weight, self.classes_.tolist()
        if wanted is None:
            return None
        if isinstance(wanted, str) and wanted == "balanced":
            return len(labels) / (len(classes) * numpy.bincount(labels))
        if not isinstance(wanted, collections.abc.Mapping):
            raise ValueError(f"class_weight is {found(wanted)}; need a dictionary, 'balanced' or None")
        unknown = [label for label in wanted if label not in classes]
        if unknown and any(label not in wanted for label in classes):  # else a part of the data lacks a class
            raise ValueError(f"class_weight has {unknown}; need labels of y: {reprlib.repr(classes)}")
        return [wanted.get(label, 1.0) for label in classes]

    def fit(self, X, y, sample_weight=None):  # pylint: disable=invalid-name
        """Trains a new model. `sample_weight` [n] multiplies the losses of samples. Returns self."""
        images, y = self._images(X), numpy.asarray(y)
        for name, array in (("y", y), ("sample_weight", sample_weight)):
            if array is not None and numpy.shape(array)[:1] != images.shape[:1]:
                shapes = f"{name} is {list(numpy.shape(array))}, X is {list(numpy.shape(X))}"
                raise ValueError(f"{shapes}; need {len(images)} rows")
        # pylint: disable=attribute-defined-outside-init
        self.classes_, labels = numpy.unique(y, return_inverse=True)
        labels = labels.ravel()  # older versions of NumPy do, newer ones do not
        self.n_features_in_ = int(numpy.prod(images.shape[1:]))
        self._rows = numpy.shape(X)[1:]
        options = dict(self.options or {})
        if (class_weights := self._weights_of_classes(labels)) is not None:
            options["class_weights"] = class_weights
        context = Context(seed=self.seed)
        data = Dataset.from_arrays(context, images, labels)
        if sample_weight is not None:
            data, options["sample_weights"] = data.weigh(sample_weight), True
        self.model_ = self._build(context, images.shape[1:], len(self.classes_))
        loader = data.loader(batch=self.batch_size, shuffle=True, seed=self.seed)
        trainer = self.model_.attach(self.devices, optimizer=self.optimizer, learning_rate=self.learning_rate, seed=self.seed,
                                     **options)
        self.history_ = [trainer.train_epoch(loader, self.progress) for _ in range(self.epochs)]
        self.model_ = trainer.unwrap()
        return self

    def decision_function(self, X):  # pylint: disable=invalid-name
        """The outputs of the model, [n, classes]."""
        if not hasattr(self, "model_"):
            raise ValueError("the classifier is not fitted; call fit first")
        images = self._images(X)
        if images.shape[1:] != self.model_.info.input_dims:
            raise ValueError(f"X is {list(numpy.shape(X))}; need [n, {', '.join(map(str, self._rows))}]")
        return self.model_.predict(images)

    def predict_proba(self, X):  # pylint: disable=invalid-name
        """Probabilities [n, classes]: the softmax of the outputs."""
        outputs = self.decision_function(X).astype(numpy.float64)
        powers = numpy.exp(outputs - outputs.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X):  # pylint: disable=invalid-name
        """The most probable class of each sample."""
        winners = self.decision_function(X).argmax(axis=1)
        return self.classes_[winners]

    def score(self, X, y, sample_weight=None):  # pylint: disable=invalid-name
        """The part of the samples, or of their weights, whose class is predicted."""
        return float(numpy.average(self.predict(X) == numpy.asarray(y), weights=sample_weight))
