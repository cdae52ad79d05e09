#include "server/device/device_body.h"

#include "server/device/device_layered_body.h"
#include "server/device/device_small_body.h"

namespace murmurate {

std::unique_ptr<DeviceBody> MakeDeviceBody(const DeviceBodyRequest& request,
                                           DeviceNetworkForm form) {
  if (form == DeviceNetworkForm::kBySize && DeviceSmallBody::Suits(request))
    return std::make_unique<DeviceSmallBody>(request);
  return std::make_unique<DeviceLayeredBody>(request);
}

}  // namespace murmurate
