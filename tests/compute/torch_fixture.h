// TorchFixture: the numbers PyTorch gave, written by scripts/make_torch_fixtures.py.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/source_file.h"

namespace murmurate {

class TorchFixture {
 public:
  /// tests/fixtures/torch_NAME.txt.
  explicit TorchFixture(const std::string& name) {
    std::ifstream file(SourceFile("tests/fixtures/torch_" + name + ".txt"));
    EXPECT_TRUE(file) << name;
    std::string key;
    for (std::size_t count = 0; file >> key >> count;) {
      std::vector<double>& record = records_[key];
      record.resize(count);
      for (double& number : record) file >> number;
    }
  }

  bool Has(const std::string& key) const { return records_.contains(key); }
  const std::vector<double>& Doubles(const std::string& key) const { return records_.at(key); }
  std::vector<float> Floats(const std::string& key) const {
    const std::vector<double>& record = records_.at(key);
    return {record.begin(), record.end()};
  }
  std::vector<std::int32_t> Integers(const std::string& key) const {
    const std::vector<double>& record = records_.at(key);
    return {record.begin(), record.end()};
  }

 private:
  std::map<std::string, std::vector<double>> records_;
};

/// |got - expected| <= absolute + relative |expected| for every element.
template <typename Got>
void ExpectClose(const Got& got, const std::vector<double>& expected, double absolute,
                 double relative, const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], absolute + relative * std::abs(expected[i]))
        << what << " [" << i << "]";
}

}  // namespace murmurate
