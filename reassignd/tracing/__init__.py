"""Traces of jobs, optional: the spans, and their export by OpenTelemetry."""
