// The models that the bundled examples train, on a device.
#include "tests/device/example_models.h"

#include <gtest/gtest.h>

#include "tests/device/network_run.h"

namespace murmurate {
namespace {

void ExpectRunsAsHere(const ExampleModel& model, int steps, int lanes) {
  SCOPED_TRACE(model.name + "\n" + model.spec.ToText());
  const NetworkRows rows(model.spec, steps, lanes);
  const NetworkNumbers here = rows.OnThisProcessor();
  for (const DeviceNetworkForm form : {DeviceNetworkForm::kBySize, DeviceNetworkForm::kLayered}) {
    NetworkOnDevice device(model.spec, rows.rows(), {}, form);
    ExpectSameNumbers(model.spec, device.Run(rows), here);
  }
}

TEST(ExampleModels, AllRunAsOnThisProcessor) {
  const std::vector<ExampleModel> models = ModelsOfExamples();
  EXPECT_GE(models.size(), 9u);
  for (const ExampleModel& model : models) ExpectRunsAsHere(model, 3, 2);
}

TEST(ExampleModels, SensorsRunAsOnThisProcessor) {
  ExpectRunsAsHere({"sensors", ModelOfSensors()}, 16, 3);
}

TEST(ExampleModels, EncodersOfPicturesRunAsOnThisProcessor) {
  for (const ExampleModel& model : ModelsOfPictures()) ExpectRunsAsHere(model, 2, 1);
}

}  // namespace
}  // namespace murmurate
