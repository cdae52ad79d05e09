"""Feeds MLflow from the rows of a run, while it trains or afterwards (pip install mlflow):

murmurate train cartpole --set metrics.json_lines=true
tail -n +1 -F runs/cartpole/metrics.jsonl | python3 examples/metrics/mlflow_log.py cartpole
"""

import json
import sys

import mlflow

with mlflow.start_run(run_name=sys.argv[1]):
    for line in sys.stdin:
        row = json.loads(line)
        numbers = {name: row[name] for name in row if name not in ("model", "time", "steps")}
        mlflow.log_metrics(numbers, step=row["steps"])
