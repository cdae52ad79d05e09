// The configurations in examples/configs and examples/distributed, embedded in the executable at
// build time.
#pragma once

#include <span>
#include <string>

namespace murmurate {

struct Example {
  const char* name;  ///< the file's stem, or the name that server/config/CMakeLists.txt gives it
  const char* text;  ///< TOML
};
std::span<const Example> Examples();
/// The first sentence of the comment that the example begins with, as one line without the "#".
std::string SummaryOf(const Example& example);

}  // namespace murmurate
