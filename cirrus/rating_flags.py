"""The flags of analyze.py by which policies are rated. Loads nothing: a help asks for them too."""

import argparse

from common.exits import UsageError

# Flags that mean something only beside another.
WITH = {"--adjudicate": ("provider", "base_url", "temperature", "limit_usd", "concurrency",
                         "dry_run", "run_id"),
        "--adjudicate or --export-ratings": ("sample", "seed", "config")}
EXAMPLES = """  python3 analyze.py results/acausal/confirmatory-s42 --adjudicate default --dry-run
  python3 analyze.py results/acausal/confirmatory-s42 --export-ratings sheet.csv --sample 60
  python3 analyze.py results/acausal/confirmatory-s42 --import-ratings anna.csv"""


def add_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("rating policies by the codebook").add_argument
    add("--adjudicate", metavar="A,B",
        help="two models or more rate policies, blind; 'default': those of the configuration")
    add("--export-ratings", metavar="FILE", help="write a blinded sheet for people to fill")
    add("--import-ratings", metavar="FILE", action="append",
        help="read a filled sheet, then analyse; repeatable")
    add("--sample", type=int, metavar="N", help="policies to rate (default 200, or all)")
    add("--seed", type=int, metavar="N", help="seed of the sample and its order (default 42)")
    add("--config", metavar="FILE", help="JSON over config/adjudication.config.json")
    add = flags.add_argument_group("who adjudicates").add_argument
    add("--provider", metavar="NAME", choices=("auto", "openrouter", "simulated"),
        help="auto, openrouter or simulated (default auto)")
    add("--base-url", metavar="URL", help="an OpenAI-compatible server")
    add("--temperature", type=float, metavar="T", help="sampling temperature, 0 to 2 (default 0)")
    add("--limit-usd", type=float, metavar="USD", help="no call is sent that could pass it")
    add("--concurrency", metavar="N", help="calls at once (default 8)")
    add("--dry-run", action="store_true", default=None,
        help="design, calls and projected cost; write nothing, ask nothing")
    add("--run-id", metavar="ID", help="name of the folder (default adjudication)")


def check(args: argparse.Namespace) -> None:
    """UsageError for flags that would say nothing beside the others."""
    given = [flag for flag, value in (
        ("--verify", args.verify or None), ("--index", args.index or None),
        ("--export-inspect", args.export_inspect),
        ("--adjudicate", args.adjudicate),
        ("--export-ratings", args.export_ratings), ("--import-ratings", args.import_ratings))
        if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one at a time")
    for needed, names in WITH.items():
        for name in names:
            if getattr(args, name) is not None and not set(given) & set(needed.split(" or ")):
                raise UsageError(f"--{name.replace('_', '-')}: means something only with {needed}")
