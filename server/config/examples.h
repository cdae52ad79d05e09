// The configurations in examples/configs, embedded in the executable at build time.
#pragma once

#include <span>

namespace murmurate {

struct Example {
  const char* name;  ///< the file's stem
  const char* text;  ///< TOML
};
std::span<const Example> Examples();

}  // namespace murmurate
