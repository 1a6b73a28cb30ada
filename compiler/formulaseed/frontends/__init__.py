"""Input formats. Each lowers to `syntax.surface`; nobody downstream asks which it was."""
