"""The first stage of each call: is there a device, which, and what can it do at best."""

import json
import platform

import device_json
from campaign import Failed, NoDevice


def device(campaign):
    ran = campaign.run(campaign.bench("bench_device_probe"), expect=None)
    if ran.code == 5:
        raise NoDevice(ran.sentence().removeprefix("murmurate: "))
    if ran.code != 0:
        raise Failed(ran.sentence())
    if campaign.device != "host":
        index = int(campaign.device.removeprefix("cuda:"))
        text = json.dumps(device_json.describe(index), indent=2)
        (campaign.out / "device.json").write_text(text + "\n")
    return ran.lines() + [{"probe": "host", "system": platform.platform(),
                           "python": platform.python_version()}]
