#include "server/operate/parameter_file_keys.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

const Keys<ParameterFileSettings>& ParameterFileKeys() {
  using S = ParameterFileSettings;
  static const Keys<S> kKeys(
      "metrics", {{"parameters", &S::parameters,
                   "histograms of each tensor of a checkpoint, for TensorBoard, in parameters/"}});
  return kKeys;
}

}  // namespace murmurate
