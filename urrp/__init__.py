"""URRP v1.1: suite, classification of a trial, metrics, report. Nothing here calls a model."""
