"""python3 gpu_campaign correctness|speed [--device cuda:0|host] [--small], in a folder that
gpu-campaign.sh build made; see there. python3 gpu_campaign record RESULTS is for the sources."""

import argparse
import pathlib
import signal
import sys

import record
import correctness
import speed
from campaign import Campaign, NoDevice

NO_DEVICE = 5


def run(chosen):
    folder = pathlib.Path(__file__).resolve().parent.parent
    campaign = Campaign(folder, chosen.call, chosen.device, chosen.small)
    peers = None
    try:
        if chosen.call == "speed":
            peers, stages = speed.stages(campaign)
        else:
            stages = correctness.STAGES
        for name, limit_s, work in stages:
            campaign.stage(name, limit_s, work)
            last = campaign.results[chosen.call]["stages"][-1]
            print(f"{last['status']:8} {last['seconds']:7.1f} s  {name}  {last['sentence']}",
                  flush=True)
    except NoDevice as why:
        print(f"murmurate: {why}", file=sys.stderr)
        return NO_DEVICE
    finally:
        if peers is not None:
            peers.end()
        campaign.close()
    print(campaign.table([chosen.call]))
    return 1 if campaign.failed() else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("call", choices=["correctness", "speed", "record"])
    parser.add_argument("results", nargs="?", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    if chosen.call == "record":
        return record.record(chosen.results)
    return run(chosen)


if __name__ == "__main__":
    sys.exit(main())
