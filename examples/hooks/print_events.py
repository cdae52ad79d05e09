"""A hook of one's own as a command: prints a line for each batch, episode and checkpoint.

    [[hook]]
    kind = "command"
    command = "python3 examples/hooks/print_events.py"

What it prints is in hooks/command.log of the run's folder.
"""
import json
import sys

for line in sys.stdin:
    event = json.loads(line)
    kind = event["event"]
    if kind == "after_batch":
        mean = event["metrics"].get("rollout/ep_rew_mean")
        print(f"step {event['steps']}: mean return {mean}", flush=True)
    elif kind == "episode":
        print(f"episode of {event['length']} steps, return {event['return']}", flush=True)
    elif kind == "checkpoint":
        print(f"checkpoint {event['folder']}: {'good' if event['good'] else 'failed'}", flush=True)
    else:
        print(kind, flush=True)
