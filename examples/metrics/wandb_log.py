"""Feeds Weights & Biases from the rows of a run, while it trains or afterwards (pip install wandb):

murmurate train cartpole --set metrics.json_lines=true
tail -n +1 -F runs/cartpole/metrics.jsonl | python3 examples/metrics/wandb_log.py cartpole
"""

import json
import sys

import wandb

with wandb.init(project="murmurate", name=sys.argv[1]) as run:
    for line in sys.stdin:
        row = json.loads(line)
        numbers = {name: row[name] for name in row if name not in ("model", "time", "steps")}
        run.log(numbers, step=row["steps"])
