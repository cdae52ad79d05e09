// The project's own sources as the house tests read them.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

struct CodeFile {
  std::string name;  ///< from the root: server/learn/learner.cc
  std::string text;
};

/// The headers and sources in these folders of the project.
std::vector<CodeFile> CodeFiles(const std::vector<std::string>& folders = {"shared", "client",
                                                                           "server"});

/// The same lines without what stands in comments. A // inside a string is kept.
std::string WithoutComments(const std::string& code);

}  // namespace murmurate
