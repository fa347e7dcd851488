"""The bench: asking, reading, keeping. Knows nothing of any experiment."""

VERSION = "0.1.0"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # of reasoning, upwards
KEY_VARIABLE = "OPENROUTER_API_KEY"
