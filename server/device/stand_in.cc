// Stand-in: goes when the engine and the plug-in are there.
#include "server/device/device_trainer.h"
#include "server/device/open_device.h"

namespace murmurate {

DeviceMemoryNeed MeasureDeviceMemory(const ModelSpec&, const AlgorithmSettings&, int) { return {}; }

Result<std::unique_ptr<BatchTrainer>> MakeDeviceTrainer(const ModelSpec&, const AlgorithmSettings&,
                                                        std::shared_ptr<Device>,
                                                        std::unique_ptr<ParameterStore>) {
  return ResourceError("this build has no engine for devices");
}

Result<std::unique_ptr<Device>> OpenDevice(const std::string& name, DevicePrecision, bool) {
  return ResourceError(name + ": this build has no CUDA plug-in; write device = \"cpu\"");
}

}  // namespace murmurate
