"""The first thing that a bundle runs: unpack itself into a folder of its own, then the script.

Prompts are read as files and the manifest hashes the code, so a zip is not enough as it is.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    zipfile.ZipFile(Path(__file__).parent).extractall(folder)
    sys.path.insert(0, folder)
    import runpy

    runpy.run_path(f"{folder}/SCRIPT.py", run_name="__main__")
