#pragma once

#include "server/compute/device/calls/control.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

MURMURATE_KERNEL(BeginPass) {
  if (GlobalThread() != 0) return;
  call.control->pass = call.control->next;
  ++call.control->next;
}

}  // namespace murmurate
