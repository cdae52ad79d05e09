// Arrays that are learned in a moment, and what a run wrote of it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "shared/core/random.h"
#include "tests/data/npy_writer.h"
#include "tests/server/process.h"

namespace murmurate {

/// A column of the last row of a progress.csv; NaN when it is empty.
inline double LastOf(const std::string& csv, const std::string& column) {
  std::istringstream lines(csv);
  std::string header, line, last;
  std::getline(lines, header);
  while (std::getline(lines, line)) last = line;
  std::istringstream names(header), fields(last);
  std::string name, field;
  while (std::getline(names, name, ',')) {
    if (!std::getline(fields, field, ',')) field.clear();
    if (name == column) return field.empty() ? NAN : std::stod(field);
  }
  ADD_FAILURE() << "no column " << column;
  return NAN;
}

/// 3,000 points of a square; the label says in which of four corners each lies.
inline void WriteCorners(const Workplace& place) {
  Random random(7);
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (int i = 0; i < 3000; ++i) {
    const float a = 2 * random.Uniform() - 1, b = 2 * random.Uniform() - 1;
    x.insert(x.end(), {a, b});
    y.push_back((a > 0) + 2 * (b > 0));
  }
  WriteNpy<float>(place.path() + "/x.npy", "<f4", "(3000, 2)", x);
  WriteNpy<std::int64_t>(place.path() + "/y.npy", "<i8", "(3000,)", y);
}

inline std::string Corners(const std::string& run, const std::string& more = "") {
  return "[run]\nname = \"" + run + "\"\nlog_interval_s = 0.05\n[model]\nlayers = [32]\n" +
         "[algorithm]\nname = \"supervised\"\nbatch_steps = 512\nminibatch = 128\n" +
         "[optimizer]\nlearning_rate = 1e-2\n" +
         "[data]\nobservations = \"x.npy\"\nlabels = \"y.npy\"\npasses = 12\nholdout = 0.2\n" +
         more;
}

}  // namespace murmurate
