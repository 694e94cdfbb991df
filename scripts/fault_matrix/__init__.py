"""The fault matrix: what agents do when a model, its service, a tool or a memory does not do its part.

``fault`` says what a fault is, the modules of ``catalogue`` hold them as data, ``contenders`` and
``processes`` play them, ``report`` writes down what came of it. ``scripts/faults.py`` is the command.
"""
