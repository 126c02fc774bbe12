"""Named errors of model files that are read: not whole, not what it says, not what we can read."""

from memlessons.errors import MemlessonsError


class ModelFileError(MemlessonsError):
    """Something is wrong with a model file; the message names the file and what to do."""


class NotAModel(ModelFileError):
    """The file is no model file, or a damaged one."""


class TruncatedModel(NotAModel):
    """The file ends before the model does."""


class BadMetadata(NotAModel):
    """A metadata entry that cannot be: the wrong type, out of range, or against another entry."""


class UnsupportedModel(ModelFileError):
    """A sound file of a kind that this package does not read."""


class MissingParts(UnsupportedModel):
    """One part of a model that is split over several files, without the others."""


class UnknownTensorType(UnsupportedModel):
    """A tensor in a number format whose bytes nobody here knows."""


class UnknownMetadata(UnsupportedModel):
    """A metadata entry that changes what the model remembers, in a way no rule here knows."""
