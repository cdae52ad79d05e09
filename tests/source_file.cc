#include "tests/source_file.h"

namespace murmurate {

std::string SourceFile(const std::string& path) {
  return MURMURATE_SOURCE_DIR + (path.empty() ? "" : '/' + path);
}

}  // namespace murmurate
