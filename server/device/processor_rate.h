// How fast this processor computes what learning is made of.
#pragma once

#include <functional>

namespace murmurate {

struct ModelSpec;

/// Seconds of the network of one Act, alone in its batch; measured in about 30 ms.
double MeasureAct(const ModelSpec& spec);

/// Floating-point operations a second of one thread's matrix products, measured in about 5 ms.
double MeasureProcessorRate();

/// What is measured of this processor.
struct ProcessorMeasures {
  std::function<double(const ModelSpec&)> act_s = MeasureAct;
  std::function<double()> flops_a_second = MeasureProcessorRate;
};

}  // namespace murmurate
