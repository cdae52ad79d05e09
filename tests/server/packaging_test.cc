// The files of packaging/: the systemd unit, judged by systemd's own tool, and the container files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/server/process.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadPackaging(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(SourceFile("packaging/" + name)).rdbuf();
  return text.str();
}

Ran Shell(const Workplace& place, const std::string& command) {
  Process shell(place.path(), {}, {"sh", "-c", command, "sh"});
  Ran ran;
  ran.code = shell.Wait(30);
  ran.output = shell.Output();
  ran.errors = shell.Errors();
  return ran;
}

bool HasSystemd(const Workplace& place) {
  return Shell(place, "command -v systemd-analyze").code == 0;
}

TEST(Unit, IsExposedByLittle) {
  const Workplace place;
  if (!HasSystemd(place)) GTEST_SKIP() << "systemd-analyze is not installed";
  const Ran ran = Shell(place, "systemd-analyze security --offline=true --no-pager '" +
                                   SourceFile("packaging/murmurate.service") + "'");
  ASSERT_EQ(ran.code, 0) << ran.errors;
  std::smatch level;
  ASSERT_TRUE(
      std::regex_search(ran.output, level, std::regex("Overall exposure level for .*: ([0-9.]+)")))
      << ran.output;
  EXPECT_LE(std::stod(level[1]), 3.0);
}

/// With the program under test in place of the one that the package installs.
TEST(Unit, IsWithoutFault) {
  const Workplace place;
  if (!HasSystemd(place)) GTEST_SKIP() << "systemd-analyze is not installed";
  const std::string text = ReadPackaging("murmurate.service");
  const std::string installed = "ExecStart=/usr/bin/murmurate ";
  ASSERT_THAT(text, HasSubstr(installed));
  place.Write("murmurate.service", std::regex_replace(text, std::regex(installed),
                                                      "ExecStart=" MURMURATE_EXECUTABLE " "));
  const Ran ran =
      Shell(place, "systemd-analyze verify --man=no --recursive-errors=no murmurate.service");
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
}

TEST(Unit, StartsWhatTheProgramAcceptsAndReloadsIt) {
  const std::string unit = ReadPackaging("murmurate.service");
  EXPECT_THAT(unit, HasSubstr("\nType=notify\n"));
  EXPECT_THAT(unit, HasSubstr("\nExecReload=/bin/kill -HUP $MAINPID\n"));
  EXPECT_THAT(unit, HasSubstr("\nWatchdogSec="));
  EXPECT_THAT(unit, HasSubstr("serve /etc/murmurate/serve.toml --resume"));
  const Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"check", SourceFile("packaging/serve.toml")});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("/var/lib/murmurate/runs"));
  EXPECT_THAT(ran.output, ContainsRegex("page.listen +\"?off"))
      << "the page is the administrator's choice";
}

/// The instructions of a Dockerfile, continued lines joined.
std::vector<std::string> Instructions(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool continued = line.back() == '\\';
    if (continued) line.pop_back();
    goes_on ? void(all.back() += line) : all.push_back(line);
    goes_on = continued;
  }
  return all;
}

/// The first word of the command of an instruction in JSON: "murmurate".
std::vector<std::string> WordsIn(const std::string& instruction) {
  std::vector<std::string> words;
  const std::regex quoted("\"([^\"]*)\"");
  for (std::sregex_iterator at(instruction.begin(), instruction.end(), quoted), end; at != end;
       ++at)
    words.push_back((*at)[1]);
  return words;
}

TEST(Container, IsDebianRunsAsNoRootAndAsksTheProgramHowItIs) {
  const auto all = Instructions(ReadPackaging("Dockerfile"));
  const auto find = [&](const std::string& word) {
    for (const std::string& instruction : all)
      if (instruction.starts_with(word + ' ')) return instruction;
    return std::string();
  };
  EXPECT_EQ(find("FROM"), "FROM debian:12-slim");
  EXPECT_TRUE(std::regex_match(find("USER"), std::regex("USER [1-9][0-9]*:[1-9][0-9]*")));
  EXPECT_THAT(find("EXPOSE"), HasSubstr("7420"));
  EXPECT_THAT(find("ENV"), HasSubstr("MURMURATE_PAGE__LISTEN=off"));
  const Workplace place;
  for (const char* word : {"HEALTHCHECK", "CMD"}) {
    std::vector<std::string> command = WordsIn(find(word));
    ASSERT_FALSE(command.empty()) << word;
    if (std::string(word) == "HEALTHCHECK") {
      EXPECT_EQ(command.front(), "murmurate");
      command.erase(command.begin());
    }
    command.push_back("--help");  // every word of it is one that the program knows
    const Ran ran = RunMurmurate(place.path(), command);
    EXPECT_EQ(ran.code, 0) << word << ran.errors;
  }
  EXPECT_EQ(WordsIn(find("ENTRYPOINT")), std::vector<std::string>{"murmurate"});
}

TEST(Container, ItsVariablesAreSettings) {
  const std::string text = ReadPackaging("Dockerfile") + ReadPackaging("compose.yaml");
  std::vector<std::string> prefix{"env"};
  const std::regex setting("(MURMURATE_[A-Z_]+__[A-Z_]+)(=|: )('[^']*'|[^ \\n\\\\]+)");
  for (std::sregex_iterator at(text.begin(), text.end(), setting), end; at != end; ++at) {
    std::string value = (*at)[3];
    if (value.front() == '\'') value = value.substr(1, value.size() - 2);
    prefix.push_back((*at)[1].str() + '=' + value);
  }
  EXPECT_GE(prefix.size(), 5u);
  const Workplace place;
  Process check(place.path(), {"check", "cartpole", "--set", "server.insecure=true"}, prefix);
  EXPECT_EQ(check.Wait(20), 0) << check.Errors();
}

/// service -> its lines without indentation.
std::map<std::string, std::vector<std::string>> ServicesIn(const std::string& text) {
  std::map<std::string, std::vector<std::string>> services;
  std::istringstream lines(text);
  std::string service;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.find_first_not_of(' ') == line.npos) continue;
    const std::size_t indent = line.find_first_not_of(' ');
    if (line[indent] == '#') continue;
    if (indent == 0) inside = line == "services:";
    if (indent == 2 && inside) service = line.substr(2, line.size() - 3);
    if (indent > 2 && inside) services[service].push_back(line.substr(indent));
  }
  return services;
}

TEST(Container, ComposeHasABrokerALearnerAndAnActorOfIt) {
  const auto services = ServicesIn(ReadPackaging("compose.yaml"));
  ASSERT_EQ(services.size(), 3u);
  EXPECT_THAT(services.at("broker"), Contains(StartsWith("image: eclipse-mosquitto")));
  const auto& learner = services.at("learner");
  EXPECT_THAT(learner, Contains("dockerfile: packaging/Dockerfile"));
  for (const auto& service : {learner, services.at("actor")}) {
    std::string line;
    for (const std::string& one : service)
      if (one.starts_with("command: ")) line = one;
    auto command = WordsIn(line);
    ASSERT_FALSE(command.empty());
    command.push_back("--help");
    const Workplace place;
    EXPECT_EQ(RunMurmurate(place.path(), command).code, 0) << line;
  }
  std::string ports;
  for (const std::string& line : learner)
    if (line.starts_with("ports: ")) ports = line;
  for (const std::string& port : WordsIn(ports))
    EXPECT_THAT(port, StartsWith("127.0.0.1:")) << "beyond this host only when a user says so";
}

}  // namespace
}  // namespace murmurate
