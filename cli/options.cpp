// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "interposer/option_entries.h"
#include "interposer/options.h"

namespace streamsan::cli {
namespace {

constexpr std::string_view spelled(bool value) { return value ? "1" : "0"; }

constexpr OptionRow kRows[] = {
// A number's default is spelled as it stands in the row; a truth value as 0 or 1; a text as itself.
#define SS_SPELL_Bool(value) spelled(value)
#define SS_SPELL_Number(value) #value
#define SS_SPELL_Text(value) value
#define SS_SPELL_Output(value) value
#define SS_OPTION(type, name, default_value, where, description) \
  {OptionType::type, #name, SS_SPELL_##type(default_value), where, description},
#include "cli/options.def"
#undef SS_OPTION
#undef SS_SPELL_Bool
#undef SS_SPELL_Number
#undef SS_SPELL_Text
#undef SS_SPELL_Output
};

struct Choice {
  std::string_view name;
  std::span<const char* const> words;
};
constexpr Choice kChoices[] = {{"color", report::Words<Color>::kAll},
                               {"min_severity", report::Words<report::Severity>::kAll},
                               {"require_activity", report::Words<RequireActivity>::kAll},
                               {"python_stacks", report::Words<PythonStacks>::kAll},
                               {"host_threads", report::Words<HostThreads>::kAll},
                               {"footprints", report::Words<Footprints>::kAll},
                               {"footprint_policy", report::Words<FootprintPolicy>::kAll}};

/// The largest number of those that have one: an exit code is eight bits, and those of the recorder are cut by it
/// (interposer/options.h).
struct Limit {
  std::string_view name;
  std::uint32_t most;
};
constexpr Limit kLimits[] = {{"exitcode", 255},
                             {"stack_depth", recorder::kMaxStackDepth},
                             {"host_guard_cost", recorder::kMostHostGuardCost},
                             {"perturb", recorder::kMostPerturb},
                             {"perturb_seed", recorder::kMostPerturbSeed},
                             {"footprint_launches", recorder::kMostFootprintLaunches},
                             {"footprint_seconds", recorder::kMostFootprintSeconds},
                             {"footprint_allowance", recorder::kMostFootprintAllowance},
                             {"footprint_share", recorder::kMostFootprintShare},
                             {"footprint_patience", recorder::kMostFootprintPatience},
                             {"footprint_memory", recorder::kMostFootprintMemory}};

std::string assign(bool& target, std::string_view name, std::string_view value) {
  if (value == "1" || value == "true" || value == "yes" || value == "on") {
    target = true;
  } else if (value == "0" || value == "false" || value == "no" || value == "off") {
    target = false;
  } else {
    return std::string(name) + "=" + std::string(value) + ": 0 or 1 is expected";
  }
  return {};
}

std::string assign(std::uint32_t& target, std::string_view name, std::string_view value) {
  std::uint32_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    return std::string(name) + "=" + std::string(value) + ": a number is expected";
  }
  for (const Limit& limit : kLimits) {
    if (limit.name == name && number > limit.most) {
      return std::string(name) + "=" + std::string(value) + ": a number up to " + std::to_string(limit.most) +
             " is expected";
    }
  }
  target = number;
  return {};
}

std::string assign(std::string& target, std::string_view name, std::string_view value) {
  for (const Choice& choice : kChoices) {
    if (choice.name != name) continue;
    if (std::find(choice.words.begin(), choice.words.end(), value) != choice.words.end()) break;
    std::string expected;
    for (const char* word : choice.words) expected += (expected.empty() ? "" : ", ") + std::string(word);
    return std::string(name) + "=" + std::string(value) + ": one of " + expected + " is expected";
  }
  target = value;
  return {};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string unknown_option(std::string_view name) {
  const std::string_view nearest = nearest_option(name);
  return "unknown option " + std::string(name) +
         (nearest.empty() ? "" : " (did you mean " + std::string(nearest) + "?)");
}

const OptionRow* row_of(std::string_view name) {
  auto it = std::find_if(std::begin(kRows), std::end(kRows), [&](const OptionRow& row) { return row.name == name; });
  return it == std::end(kRows) ? nullptr : it;
}

constexpr const char* kHeadOfThePage = R"(# Options

An option can be given in two ways:

* as a flag `--name=value` of the commands in the third column. `guest` there is the recorder inside the program: an option that only the
  guest reads has no flag;
* as `name=value` in the environment variable `STREAMSAN_OPTIONS`. Blanks, commas, colons or line ends separate the options.

A flag wins over the variable. A value in quotes, `'...'` or `"..."`, is taken as it is; as in a shell, a quote may begin and end
anywhere in a value:

```
STREAMSAN_OPTIONS="log_path='/tmp/my log:%p':verbosity=1" streamsan run ./app
```

| option | default | read by | meaning |
|---|---|---|---|
)";

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

std::string option_readers(const OptionRow& row) {
  std::string out;
  for (auto [bit, word] : {std::pair{Run, "run"}, std::pair{Check, "check"}, std::pair{Report, "report"},
                           std::pair{Diff, "diff"}, std::pair{Guest, "guest"}}) {
    if (row.where & bit) out += (out.empty() ? "" : ", ") + std::string(word);
  }
  return out;
}

std::string set_option(Options& options, std::string_view name, std::string_view value) {
#define SS_OPTION(type, name_, default_value, where, description) \
  if (name == #name_) return assign(options.name_, name, value);
#include "cli/options.def"
#undef SS_OPTION
  return unknown_option(name);
}

std::string apply_environment(Options& options, std::string_view text, std::vector<std::string>& warnings) {
  for (recorder::OptionEntry entry; recorder::take_option(text, entry);) {
    const std::string_view name = entry.key;
    if (!row_of(name)) {
      warnings.push_back("STREAMSAN_OPTIONS: " + unknown_option(name));
      continue;
    }
    if (!entry.has_value) return "STREAMSAN_OPTIONS: " + std::string(name) + " has no value";
    if (!entry.closed) return "STREAMSAN_OPTIONS: a quote of " + std::string(name) + " is not closed";
    std::string value;
    recorder::unquote_option(entry.value, [&value](char c) { value += c; });
    std::string fault = set_option(options, name, value);
    if (!fault.empty()) return "STREAMSAN_OPTIONS: " + fault;
  }
  return {};
}

std::string quoted_option(std::string_view value) {
  const auto needs_quotes = [](char c) { return recorder::separates_options(c) || recorder::is_option_quote(c); };
  if (std::none_of(value.begin(), value.end(), needs_quotes)) return std::string(value);
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'') {
      out += "'\"'\"'";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string about_unknown_flag(std::string_view name) {
  if (const OptionRow* row = row_of(name)) {
    if (row->where == Guest)
      return " (only STREAMSAN_OPTIONS takes it, for a program that is run with the preload library alone)";
    OptionRow commands = *row;
    commands.where &= ~unsigned{Guest};
    return " (it is for: " + option_readers(commands) + ")";
  }
  const std::string_view nearest = nearest_option(name);
  return nearest.empty() ? "" : " (did you mean --" + std::string(nearest) + "?)";
}

std::string_view nearest_option(std::string_view name) {
  if (name.empty()) return {};
  const auto begun = [&](const OptionRow& row) { return row.name.starts_with(name); };
  if (auto it = std::find_if(std::begin(kRows), std::end(kRows), begun); it != std::end(kRows)) return it->name;
  auto it = std::min_element(std::begin(kRows), std::end(kRows), [&](const OptionRow& a, const OptionRow& b) {
    return edit_distance(name, a.name) < edit_distance(name, b.name);
  });
  // With more than half of its letters wrong it was meant to be something else.
  return edit_distance(name, it->name) * 2 <= name.size() ? it->name : "";
}

std::string_view nearest_word(std::string_view misspelt, std::span<const std::string_view> words) {
  constexpr std::size_t kMostWrong = 2;
  std::string_view nearest;
  std::size_t least = kMostWrong + 1;
  for (const std::string_view word : words) {
    const std::size_t distance = edit_distance(misspelt, word);
    if (distance >= least || distance >= word.size()) continue;
    least = distance;
    nearest = word;
  }
  return nearest;
}

std::string options_help() {
  std::string out;
  for (const OptionRow& row : kRows) {
    std::string head = "  " + std::string(row.name) + "=" + std::string(row.default_value);
    out += head + "\n        " + std::string(row.description) + " [" + option_readers(row) + "]\n";
  }
  return out;
}

std::string options_page() {
  std::string out = kHeadOfThePage;
  for (const OptionRow& row : kRows) {
    std::string value = row.default_value.empty() ? "" : "`" + std::string(row.default_value) + "`";
    out += "| `" + std::string(row.name) + "` | " + value + " | " + option_readers(row) + " | " +
           std::string(row.description) + " |\n";
  }
  return out;
}

}  // namespace streamsan::cli
