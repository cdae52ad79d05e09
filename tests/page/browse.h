// A page in a real Chromium, as browse.py sees it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "tests/page/page_of_run.h"
#include "tests/source_file.h"

namespace murmurate {

inline constexpr int kNoBrowser = 77;

/// What browse.py prints of the page; its exit code.
struct Seen {
  int code = -1;
  Json page = {};
};

inline Seen Browse(const std::string& arguments) {
  const std::string command =
      "python3 '" + SourceFile("tests/page/browse.py") + "' " + arguments + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  const int status = ::pclose(pipe);
  Seen seen{WIFEXITED(status) ? WEXITSTATUS(status) : -1, Json::parse(text, nullptr, false)};
  if (seen.code != 0 && seen.code != kNoBrowser) ADD_FAILURE() << text;
  return seen;
}

}  // namespace murmurate
