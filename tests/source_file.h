// Where the source tree lies: for fixtures, and for tests of the tree itself. Only source_file.cc
// knows that path, so that the tests of two clones compile to the same objects.
#pragma once

#include <string>

namespace murmurate {

/// "tests/fixtures/x.txt" -> the path of that file; "" -> the root, without a slash.
std::string SourceFile(const std::string& path);

}  // namespace murmurate
