"""The first stage of each call: is there a device, which, and what can it do at best."""

import json
import platform
import shutil

import device_json
from campaign import Failed, NoDevice


STATE = "clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu,pstate,mig.mode.current"


def state_of(campaign, index):
    """What the card says of itself now; nothing of it is changed."""
    if shutil.which("nvidia-smi") is None:
        return []
    ran = campaign.run(["nvidia-smi", "-i", str(index), f"--query-gpu={STATE}",
                        "--format=csv,noheader"], expect=None)
    return [{"probe": "nvidia-smi", "state": ran.output.strip()}] if ran.code == 0 else []


def device(campaign):
    ran = campaign.run(campaign.bench("bench_device_probe"), expect=None)
    if ran.code == 5:
        raise NoDevice(ran.sentence().removeprefix("murmurate: "))
    if ran.code != 0:
        raise Failed(ran.sentence())
    figures = ran.lines()
    if campaign.device != "host":
        index = int(campaign.device.removeprefix("cuda:"))
        text = json.dumps(device_json.describe(index), indent=2)
        (campaign.out / "device.json").write_text(text + "\n")
        figures += state_of(campaign, index)
    return figures + [{"probe": "host", "system": platform.platform(),
                           "python": platform.python_version()}]
