#include "client/environments/environment.h"
#include "server/command/command_words.h"
#include "server/config/config.h"
#include "server/config/examples.h"

namespace murmurate {
namespace {

/// In single quotes, as bash and zsh read it.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> OptionNames(const std::vector<OptionWords>& options) {
  std::vector<std::string> names;
  for (const OptionWords& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string ExampleNames() {
  std::string names;
  for (const Example& example : Examples())
    names += (names.empty() ? "" : " ") + std::string(example.name);
  return names;
}

/// "run.seed= run.steps= ..."
std::string KeyNames() {
  std::string names;
  for (const ConfigRule& rule : Schema().general)
    names += (names.empty() ? "" : " ") + rule.section + '.' + rule.key + '=';
  return names;
}

std::string ChoicesOf(const ArgumentWords& argument) {
  if (argument.name != "ENV") return Joined(argument.choices);
  return Joined(EnvironmentNames()) + " random sensors";
}

/// Branches of `case $place in`: what may follow a command, and what its arguments are.
std::string WordCases(const std::vector<CommandWords>& all) {
  std::string text;
  for (const CommandWords& words : all) {
    const ArgumentWords argument = words.arguments.empty() ? ArgumentWords{} : words.arguments[0];
    text += "    " + Quoted(words.path) + ") commands=" + Quoted(Joined(words.commands)) +
            " options=" + Quoted(Joined(OptionNames(words.options))) +
            " argument=" + argument.name + " choices=" + Quoted(ChoicesOf(argument)) + " ;;\n";
  }
  return text;
}

/// Branches of `case "$place|$before" in` for options with a value: the words it may be, or FILE.
std::string ValueCases(const std::vector<CommandWords>& all) {
  std::string text;
  for (const CommandWords& words : all) {
    for (const OptionWords& option : words.options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        if (name == "--set") continue;
        const std::string place = words.path.empty() ? "*" : Quoted(words.path);
        text += "    " + place + "'|" + name +
                "') values=" + (option.choices.empty() ? "FILE" : Quoted(Joined(option.choices))) +
                " ;;\n";
      }
    }
  }
  return text;
}

/// Branches that find the command among the words that are already there.
std::string PathCases(const std::vector<CommandWords>& all) {
  std::string text;
  for (const CommandWords& words : all)
    if (!words.path.empty()) text += (text.empty() ? "" : "|") + Quoted(words.path);
  return text;
}

/// What both shells share: sets commands, options, argument and values from place and before.
std::string Tables(const std::vector<CommandWords>& all) {
  return "  case \"$place\" in\n" + WordCases(all) + "  esac\n  case \"$place|$before\" in\n" +
         ValueCases(all) + "  esac\n";
}

constexpr char kBashEnd[] =
    R"script(  if [[ $before == --set || ($before == = && ${COMP_WORDS[COMP_CWORD-2]} == --set) ]]; then
    COMPREPLY=($(compgen -W "$keys" -- "$word"))
    [[ ${#COMPREPLY[@]} -gt 0 ]] && compopt -o nospace 2>/dev/null
  elif [[ $values == FILE ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options $common" -- "$word"))
  elif [[ -n $commands && $argument == '' ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  elif [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  elif [[ $argument == CONFIG ]]; then
    COMPREPLY=($(compgen -W "$examples" -- "$word") $(compgen -f -X '!*.toml' -- "$word") $(compgen -d -- "$word"))
  elif [[ $argument == RUN || $argument == CHECKPOINT || $argument == CLUSTER ]]; then
    COMPREPLY=($(compgen -W "$(_murmurate_runs)" -- "$word") $(compgen -d -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
  return 0
}
complete -F _murmurate murmurate
)script";

constexpr char kRunsBegin[] =
    R"script(# The names of the runs in ./runs, or where MURMURATE_RUN__DIR says.
_murmurate_runs() {
)script";
constexpr char kRunsEnd[] = R"script(  local config
  for config in "${MURMURATE_RUN__DIR:-runs}"/*/config.toml; do
    [[ -e $config ]] || continue
    config=${config%/config.toml}
    echo "${config##*/}"
  done
}
)script";

constexpr char kZshEnd[] = R"script(  if [[ $before == --set ]]; then
    compadd -S '' -- ${=keys}
  elif [[ $values == FILE ]]; then
    _files
  elif [[ -n $values ]]; then
    compadd -- ${=values}
  elif [[ $word == -* ]]; then
    compadd -- ${=options} ${=common}
  elif [[ -n $commands && $argument == '' ]]; then
    compadd -- ${=commands}
  elif [[ -n $choices ]]; then
    compadd -- ${=choices}
  elif [[ $argument == CONFIG ]]; then
    compadd -- ${=examples}
    _files -g '*.toml'
  elif [[ $argument == RUN || $argument == CHECKPOINT || $argument == CLUSTER ]]; then
    compadd -- ${(f)"$(_murmurate_runs)"}
    _files -/
  else
    _files
  fi
}
if [[ $funcstack[1] == _murmurate ]]; then
  _murmurate "$@"
else
  compdef _murmurate murmurate
fi
)script";

std::string Constants(const std::vector<CommandWords>& all) {
  return "  local common=" + Quoted(Joined(OptionNames(CommonOptions(all.front())))) +
         "\n  local examples=" + Quoted(ExampleNames()) + "\n  local keys=" + Quoted(KeyNames()) +
         '\n';
}

}  // namespace

std::string BashCompletion(const std::vector<CommandWords>& all) {
  return std::string(
             "# Completion for bash: source it, or put it into /usr/share/bash-completion/"
             "completions/murmurate.\n") +
         kRunsBegin + kRunsEnd +
         "_murmurate() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local place='' commands='' options='' argument='' choices='' values='' i\n" +
         Constants(all) +
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"${place:+$place }${COMP_WORDS[i]}\" in\n      " +
         PathCases(all) + ") place=\"${place:+$place }${COMP_WORDS[i]}\" ;;\n    esac\n  done\n" +
         Tables(all) + kBashEnd;
}

std::string ZshCompletion(const std::vector<CommandWords>& all) {
  return std::string(
             "#compdef murmurate\n# Completion for zsh: put it into a folder of $fpath as "
             "_murmurate, or source it.\n") +
         kRunsBegin + "  setopt local_options null_glob\n" + kRunsEnd +
         "_murmurate() {\n"
         "  local word=${words[CURRENT]} before=${words[CURRENT-1]}\n"
         "  local place='' commands='' options='' argument='' choices='' values='' i\n" +
         Constants(all) +
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    case \"${place:+$place }${words[i]}\" in\n      " +
         PathCases(all) + ") place=\"${place:+$place }${words[i]}\" ;;\n    esac\n  done\n" +
         Tables(all) + kZshEnd;
}

}  // namespace murmurate
