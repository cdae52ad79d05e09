// [[hook]] in configs: what is read, what is refused and how, and that docs/hooks.md has all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "server/config/config_text.h"
#include "tests/hooks/hook_stage.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] = "[run]\nenvironment = \"cartpole\"\n";

std::string Complaint(const std::string& text, const std::vector<ConfigOverride>& changes = {}) {
  const auto config = Config::Load({"c.toml", "c", text}, changes);
  return config.ok() ? "(it was accepted)" : config.status().message();
}

std::string Page() {
  std::ifstream file(SourceFile("docs/hooks.md"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(HookConfig, HasDefaultsNamesAndAResolvedTextThatLoadsToTheSame) {
  const auto config = Config::Load(
      {"c.toml", "c",
       "[[hook]]\nkind = \"step_counter\"\nevery_s = 5\n[[hook]]\nkind = \"step_counter\"\n"
       "every_steps = 10\n"},
      {{"hook.2.every_steps", "99"}});
  ASSERT_TRUE(config.ok()) << config.status();
  auto hooks = MakeHooks(config->entries(), {});
  ASSERT_TRUE(hooks.ok());
  ASSERT_EQ(hooks->size(), 2u);
  EXPECT_EQ((*hooks)[0].settings.name, "step_counter");
  EXPECT_EQ((*hooks)[1].settings.name, "step_counter-2");
  EXPECT_EQ((*hooks)[1].settings.queue, 1024);
  const std::string text = ResolvedToml(*config);
  EXPECT_THAT(text, HasSubstr("\n[[hook]]\nkind = \"step_counter\"\nname = \"step_counter-2\"\n"));
  EXPECT_THAT(text, HasSubstr("every_steps = 99\n"));
  const auto again = Config::Load({"resolved.toml", "c", text}, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ResolvedToml(*again), text);
}

TEST(HookConfig, WhatIsWrongIsOneSentenceWithWhatThereIs) {
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"loging\"\n"),
              HasSubstr("c.toml:2: hook.1.kind: got \"loging\" (a string), expected \"logging\" or "
                        "\"step_counter\" or "));
  EXPECT_EQ(
      Complaint("[[hook]]\nevery_s = 5\n"),
      "c.toml:1: hook.1: kind is not set; write [[hook]], and below it its kind, such as kind "
      "= \"logging\", and its keys");
  EXPECT_EQ(
      Complaint("[hook]\nkind = \"logging\"\n"),
      "c.toml:2: there is no hook kind; write [[hook]], and below it its kind, such as kind = "
      "\"logging\", and its keys");
  EXPECT_EQ(Complaint("[[hook]]\nkind = \"logging\"\nevery_step = 5\n"),
            "c.toml:3: unknown key \"every_step\" in [hook.1]; did you mean \"every_steps\"?");
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"logging\"\nvalue = 5\n"),
              HasSubstr("c.toml:3: unknown key \"value\" in [hook.1]; expected one of "));
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"step_counter\"\n"),
              HasSubstr("c.toml:2: hook.1 (step_counter): neither every_steps nor every_s is set"));
  EXPECT_THAT(Complaint("", {{"hook.3.every_s", "5"}}),
              HasSubstr("--set hook.3.every_s=5: there is no hook 3"));
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"stop_at_step\"\nstep = 5\nsteps = 6\n"),
              HasSubstr("it needs either step (of the whole run) or steps"));
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"stop_at_time\"\nafter = \"soon\"\n"),
              HasSubstr("hook.1.after: got \"soon\" (a string), expected a duration"));
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"nan_guard\"\ntimes = 5\n"),
              HasSubstr("action = \"stop\" goes back to nothing"));
  EXPECT_THAT(
      Complaint("[[hook]]\nkind = \"command\"\ncommand = \"cat\"\nevents = [\"batch\"]\n"),
      HasSubstr("expected some of before_batch, after_batch, version, checkpoint, episode"));
  EXPECT_THAT(Complaint("[[hook]]\nkind = \"final_evaluation\"\n"),
              HasSubstr("run.environment is not set"));
  EXPECT_THAT(
      Complaint(std::string(kRun) + "[[hook]]\nkind = \"final_evaluation\"\nname = \"a\"\n"
                                    "[[hook]]\nkind = \"final_evaluation\"\nname = \"a\"\n"),
      HasSubstr("c.toml:8: hook.2.name: got \"a\", expected a name that no other hook has"));
  EXPECT_THAT(Complaint("[parameters]\nmode = \"server\"\nshards = [\"ipc:///tmp/s\"]\n"
                        "[[hook]]\nkind = \"nan_guard\"\naction = \"restore\"\n"),
              HasSubstr("because others step the parameters, too"));
}

TEST(HookConfig, AllModelsAreForKindsThatKeepThemApart) {
  for (const auto& [kind, lines] : {std::pair{"logging", "every_s = 5\n"},
                                    {"summary_saver", "every_s = 5\nmetrics = [\"train/loss\"]\n"},
                                    {"command", "command = \"cat\"\n"},
                                    {"library", "path = \"a.so\"\n"}})
    EXPECT_EQ(Complaint("[[hook]]\nkind = \"" + std::string(kind) + "\"\nmodel = \"*\"\n" + lines),
              "(it was accepted)");
  EXPECT_EQ(Complaint("[[hook]]\nkind = \"nan_guard\"\nmodel = \"*\"\n"),
            "c.toml:3: hook.1.model: got \"*\", expected the name of one model, because a hook of "
            "kind \"nan_guard\" watches only one");
}

TEST(HookConfig, AnOverrideCannotMakeAHookOneOfAnotherKind) {
  const std::string text = "[[hook]]\nkind = \"logging\"\nevery_s = 5\n";
  const std::string answer =
      ": hook.1.kind: the config's file has \"logging\", which an override cannot change; write "
      "the "
      "other kind there";
  EXPECT_EQ(Complaint(text, {{"hook.1.kind", "command"}}), "--set hook.1.kind=command" + answer);
  EXPECT_EQ(Complaint(text, {{"hook.1.kind", "logging"}}), "(it was accepted)");
  EXPECT_EQ(Complaint(text, {{"hook.1.kind", "nan_guard", "MURMURATE_HOOK__1__KIND"}}),
            "MURMURATE_HOOK__1__KIND" + answer);
}

TEST(HookConfig, EachExampleOfThePageLoadsAndEachKindAndKeyStandsThere) {
  const std::string page = Page();
  std::string shown;
  for (std::size_t at = page.find("```toml\n"); at != page.npos; at = page.find("```toml\n", at)) {
    const std::size_t begin = at + 8, end = page.find("```", begin);
    std::string text = page.substr(begin, end - begin);
    shown += text;
    const std::string complaint = Complaint(text);
    EXPECT_EQ(complaint, "(it was accepted)") << text;
    at = end;
  }
  for (const HookKind& kind : HookKinds()) {
    EXPECT_THAT(shown, HasSubstr("kind = \"" + kind.name + "\"\n"));
    const std::size_t begin = page.find("### " + kind.name + "\n");
    ASSERT_NE(begin, page.npos) << kind.name;
    const std::string part = page.substr(begin, page.find("\n### ", begin) - begin);
    for (const ConfigRule& rule : kind.rules()) EXPECT_THAT(part, HasSubstr(rule.key)) << kind.name;
  }
  for (const ConfigRule& rule : HookKeys().rules())
    EXPECT_THAT(page, HasSubstr("| `" + rule.key + "` |"));
}

}  // namespace
}  // namespace murmurate
