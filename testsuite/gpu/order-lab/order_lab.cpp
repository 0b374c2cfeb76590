// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The laboratory: chosen questions to the hardware, "does X wait for Y?", each with a control.
//
//     order-lab experiments --repeats 100 --seconds 120 --out FOLDER
//
// An experiment is a program of testsuite/gpu/random/program.h whose last step, or a named node, is asked about: was it
// seen while the held operation had not ended? Its CONTROL is a program as like as possible in which the same thing
// must be seen, so that "0 of 100" says something about order and not about the method. An experiment whose control was
// not seen in each valid repeat is marked, and so is one that disagrees with a documented rule or with the model. The
// first file explains the form.
//
// Writes one JSON object a line to stdout and to FOLDER/order-lab.jsonl, after a first line about the machine.
// Exit code: 0; 1: a documented order or the model was refuted, or a control saw nothing; 2: wrong usage.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "testsuite/gpu/order-lab/experiment.h"
#include "testsuite/gpu/random/options.h"
#ifdef STREAMSAN_LAB_SIMULATES
#include "testsuite/gpu/random/simulate.h"
#else
#include "testsuite/gpu/random/execute.h"
#endif

namespace {

using namespace streamsan::lab;  // this file is a program

struct Count {
  unsigned valid = 0, seen = 0;
  std::string trouble;
};

Count repeat(const Program& program, const About& about, Executor& executor, unsigned repeats) {
  Count count;
  for (unsigned i = 0; i < repeats; ++i) {
    const Observation observation = executor.run(program);
    if (!observation.trouble.empty()) count.trouble = observation.trouble;
    if (!observation.valid) {
      // What fails or ends by its watchdog does so again, and takes a second each time.
      if (count.valid == 0 && i >= 2) break;
      continue;
    }
    ++count.valid;
    count.seen += was_seen(program, about, observation);
  }
  return count;
}

std::string field(const char* name, const std::string& value) {
  return std::string("\"") + name + "\": " + quoted(value);
}
std::string field(const char* name, unsigned value) {
  return std::string("\"") + name + "\": " + std::to_string(value);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  if (argc < 2) return std::fprintf(stderr, "order-lab FOLDER [options]\n"), 2;
  const std::vector<Experiment> experiments = read_experiments(argv[1]);
  if (experiments.empty()) return std::fprintf(stderr, "no experiments in %s\n", argv[1]), 2;
  CommandLine line(argc - 1, argv + 1);
  const auto repeats = static_cast<unsigned>(line.number("--repeats", 100));
  const auto seconds = static_cast<double>(line.number("--seconds", 120));
  const std::uint64_t settle = line.number("--settle", 2500);
  const std::string only = line.text("--only");
  const std::string folder = line.text("--out");
  line.expect_no_more();

  std::ofstream out;
  if (!folder.empty()) out.open(folder + "/order-lab.jsonl");
  const auto print = [&](const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
    if (out.is_open()) out << text << std::endl;
  };
#ifdef STREAMSAN_LAB_SIMULATES
  static_cast<void>(settle);
  const auto executor = std::make_unique<Simulation>();
  print("{" + field("gpu", "simulation") + ", " + field("driver", "none") + ", " + field("toolkit", "none") + "}");
#else
  if (Hardware::devices() == 0) return std::fprintf(stderr, "no GPU\n"), 2;
  const auto executor = std::make_unique<Hardware>(1, std::chrono::microseconds(settle));
  print("{" + field("gpu", Hardware::gpu()) + ", " + field("driver", Hardware::driver()) + ", " +
        field("toolkit", Hardware::toolkit()) + "}");
#endif
  const auto begin = std::chrono::steady_clock::now();
  bool good = true;
  for (const Experiment& experiment : experiments) {
    if (!only.empty() && experiment.name.find(only) == std::string::npos) continue;
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (passed > seconds) {
      print("{" + field("experiment", experiment.name) + ", " + field("skipped", "time limit") + "}");
      continue;
    }
    const Count seen = repeat(experiment.program, experiment.about, *executor, repeats);
    const Count control = repeat(experiment.control, experiment.about, *executor, repeats < 20 ? repeats : 20);
    const Observation nothing;
    const Order model = predicted(experiment.program, experiment.about, predict(experiment.program, nothing));
    const std::string verdict = control.seen == 0 || control.seen < control.valid ? "the control did not see it"
                                : seen.valid == 0                                 ? "no valid repeat"
                                : seen.seen != 0 && experiment.documented == "ordered"
                                    ? "a documented order was not kept"
                                : seen.seen != 0 && (model == Order::Ordered || model == Order::Assumed)
                                    ? "the model orders what was seen to overlap"
                                    : "";
    good &= verdict.empty();
    print("{" + field("experiment", experiment.name) + ", " + field("rule", experiment.rule) + ", " +
          field("question", experiment.question) + ", " + field("documented", experiment.documented) + ", " +
          field("model", name_of(model)) + ", " + field("seen", seen.seen) + ", " + field("of", seen.valid) + ", " +
          field("control_seen", control.seen) + ", " + field("control_of", control.valid) + ", " +
          field("trouble", seen.trouble.empty() ? control.trouble : seen.trouble) + ", " + field("verdict", verdict) +
          "}");
  }
  return good ? 0 : 1;
}
