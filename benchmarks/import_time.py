"""How long `import metamixup` takes beyond torch: median of fresh processes.

python benchmarks/import_time.py
"""

import json
import statistics
import subprocess
import sys

CODE = """
import time
import torch
started = time.perf_counter()
from metamixup import MetaMixUp
print(time.perf_counter() - started)
"""


def main(repetitions: int = 7) -> None:
    run = [sys.executable, "-c", CODE]
    done = [subprocess.run(run, capture_output=True, text=True, check=True) for _ in range(repetitions)]
    seconds = [round(float(each.stdout), 4) for each in done]
    print(json.dumps({"import_seconds": statistics.median(seconds), "all": seconds}))


if __name__ == "__main__":
    main()
