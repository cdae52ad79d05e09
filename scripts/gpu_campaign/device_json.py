"""The GPU as cuDNN takes a description of one (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION), read
from the driver: tests/fixtures/gpus has such texts, for plans where there is no GPU."""

import ctypes

from campaign import Failed

# Of the driver's header: enum CUdevice_attribute.
ATTRIBUTES = {
    "multiProcessorCount": 16, "maxThreadsPerSM": 39, "maxCtasPerSM": 106,
    "maxSharedMemoryPerBlockOptin": 97, "reservedSharedMemoryPerBlock": 111, "l2CacheSize": 38,
    "smClockRateKHz": 13, "memClockRateKHz": 36, "warpSize": 10, "maxGridSize": (5, 6, 7),
    "maxBlockSize": (2, 3, 4), "maxThreadsPerBlock": 1, "regsPerBlock": 12,
    "maxRegistersPerSM": 82, "maxSharedMemoryPerBlock": 8, "isTccDriver": 35,
    "supportCoopLaunch": 95,
}
MAJOR, MINOR, PCI_IDENTITY = 75, 76, 139


class Driver:
    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Failed(f"the driver's library cannot be loaded: {error}") from error

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise Failed(f"{name} of the driver gave {code}")

    def number(self, kind, name, *arguments):
        value = kind()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value


def describe(index):
    driver = Driver()
    driver.call("cuInit", 0)
    device = driver.number(ctypes.c_int, "cuDeviceGet", index)

    def attribute(number):
        return driver.number(ctypes.c_int, "cuDeviceGetAttribute", number, device)

    def identity():
        """The kind of card, of its number and its vendor's; 0: an older driver does not say."""
        try:
            return attribute(PCI_IDENTITY) >> 16 & 0xffff
        except Failed:
            return 0

    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGetName", name, 256, device)
    described = {
        "deviceName": name.value.decode(),
        "deviceVer": attribute(MAJOR) * 100 + attribute(MINOR) * 10,
        "pciDeviceId": identity(),
        "totalGlobalMem": driver.number(ctypes.c_size_t, "cuDeviceTotalMem_v2", device),
        "cudaDeviceId": index,
        "driverVer": driver.number(ctypes.c_int, "cuDriverGetVersion"),
    }
    for key, numbers in ATTRIBUTES.items():
        described[key] = [attribute(number) for number in numbers] \
            if isinstance(numbers, tuple) else attribute(numbers)
    return described
