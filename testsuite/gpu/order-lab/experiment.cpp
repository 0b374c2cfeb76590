// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/order-lab/experiment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

namespace streamsan::lab {
namespace {

About parse_about(const std::string& text) {
  About about;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "begins") {
      about.what = About::What::Begins;
    } else if (word == "passes-wait") {
      about.what = About::What::PassesWait;
    } else if (word == "returns") {
      about.what = About::What::Returns;
    } else if (word == "node") {
      about.is_node = true;
      if (!(words >> about.graph >> about.node)) throw std::runtime_error("experiments: node GRAPH NODE");
    } else if (word == "again") {
      ++about.launch;
    } else {
      throw std::runtime_error("experiments: about what? " + text);
    }
  }
  return about;
}

/// "held STREAM": the same program, with the held step in another stream. Else a program.
Program parse_control(const std::string& text, const Program& program) {
  std::istringstream words(text);
  std::string first, stream;
  words >> first >> stream;
  if (first != "held") return parse(text);
  Program control = program;
  const Step elsewhere = parse("kernel " + stream).steps.at(0);
  bool found = false;
  for (Step& step : control.steps) {
    if (!step.work.held) continue;
    step.stream = elsewhere.stream;
    found = true;
  }
  if (!found) throw std::runtime_error("experiments: no held step");
  return control;
}

Experiment make(const std::map<std::string, std::string>& parts) {
  const auto part = [&](const std::string& name) {
    const auto found = parts.find(name);
    if (found == parts.end()) throw std::runtime_error("experiments: " + parts.at("experiment") + " has no " + name);
    return found->second;
  };
  Experiment experiment{.name = part("experiment"),
                        .rule = part("rule"),
                        .question = part("question"),
                        .documented = part("documented"),
                        .about = parts.contains("about") ? parse_about(parts.at("about")) : About{},
                        .program = parse(part("program")),
                        .control = {}};
  experiment.control = parse_control(part("control"), experiment.program);
  for (const Program* program : {&experiment.program, &experiment.control}) {
    if (program->steps.empty() || !held_of(*program))
      throw std::runtime_error("experiments: nothing is held in " + experiment.name);
  }
  return experiment;
}

}  // namespace

std::vector<Experiment> parse_experiments(const std::string& text) {
  std::vector<Experiment> experiments;
  std::map<std::string, std::string> parts;
  std::string current;
  const auto finish = [&] {
    if (!parts.empty()) experiments.push_back(make(parts));
    parts.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {  // a line of a program
      parts[current] += line + '\n';
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) throw std::runtime_error("experiments: no part: " + line);
    current = line.substr(0, colon);
    if (current == "experiment") finish();
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    parts[current] = value == std::string::npos ? "" : line.substr(value);
  }
  finish();
  return experiments;
}

std::vector<Experiment> read_experiments(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.path().extension() == ".txt") files.push_back(each.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Experiment> all;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    std::vector<Experiment> some = parse_experiments({std::istreambuf_iterator<char>(file), {}});
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

bool was_seen(const Program& program, const About& about, const Observation& observation) {
  const std::size_t last = program.steps.size() - 1;
  if (about.what == About::What::Returns) return observation.steps.at(last).returned;
  const std::size_t cell = about.is_node ? cell_of_node(about.graph, about.node) : cell_of_step(last);
  const Seen& seen = observation.cells.at(cell);
  return (about.what == About::What::PassesWait ? seen.waited : seen.begun) > about.launch;
}

Order predicted(const Program& program, const About& about, const Prediction& prediction) {
  const std::size_t last = program.steps.size() - 1;
  if (about.what == About::What::Returns) return prediction.host.at(last);
  const std::size_t cell = about.is_node ? cell_of_node(about.graph, about.node) : cell_of_step(last);
  const Predicted& predicted = prediction.cells.at(cell).at(about.launch);
  return about.what == About::What::PassesWait ? predicted.waited : predicted.begin;
}

}  // namespace streamsan::lab
