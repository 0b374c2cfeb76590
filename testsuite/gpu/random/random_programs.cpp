// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs against the hardware, or against the simulation (built without a GPU: STREAMSAN_LAB_SIMULATES).
//
//     random-programs --count 10000 --seconds 200 --shrink --out random.json --kept FOLDER
//     random-programs --program FILE        one program, 20 times: what is predicted and what is seen
//
// --seed N (the first), --devices N, --settle MICROSECONDS, --plant 1..5 (a wrong edge: must be found), --show (print
// the programs, and run none).
// Exit code: 0 all agree; 1 something disagrees; 2 nothing was seen to overlap, so the run says nothing, or wrong
// usage.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "testsuite/gpu/random/campaign.h"
#include "testsuite/gpu/random/generate.h"
#include "testsuite/gpu/random/options.h"
#ifdef STREAMSAN_LAB_SIMULATES
#include "testsuite/gpu/random/simulate.h"
#else
#include "testsuite/gpu/random/execute.h"
#endif

namespace {

using namespace streamsan::lab;  // this file is a program

struct Machine {
  std::unique_ptr<Executor> executor;
  std::string gpu = "simulation", driver = "none", toolkit = "none";
};

Machine make_machine(unsigned devices, std::uint64_t settle) {
  Machine machine;
#ifdef STREAMSAN_LAB_SIMULATES
  static_cast<void>(devices);
  static_cast<void>(settle);
  machine.executor = std::make_unique<Simulation>();
#else
  if (Hardware::devices() < devices) {
    std::fprintf(stderr, "%u devices are wanted, %u are there\n", devices, Hardware::devices());
    std::exit(2);
  }
  machine = {std::make_unique<Hardware>(devices, std::chrono::microseconds(settle)), Hardware::gpu(),
             Hardware::driver(), Hardware::toolkit()};
#endif
  return machine;
}

void print_cell(const std::string& name, const Predicted& predicted, const Seen& seen) {
  std::printf("  %-50s model: %s, past its wait %s; seen: begun %u, past its wait %u\n", name.c_str(),
              name_of(predicted.begin), name_of(predicted.waited), seen.begun, seen.waited);
}

int run_one(const std::string& path, Executor& executor, Planted planted) {
  std::ifstream file(path);
  const Program program = parse({std::istreambuf_iterator<char>(file), {}});
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    const Observation seen = executor.run(program);
    const Prediction predicted = predict(program, seen, planted);
    const Comparison comparison = compare(program, seen, predicted);
    if (i == 0) {
      std::printf("%s%s%s\n", seen.valid ? "valid" : "NOT VALID", seen.started ? "" : ", not started",
                  seen.trouble.c_str());
      for (std::size_t k = 0; k < program.steps.size(); ++k) {
        print_cell(describe(program.steps[k]), predicted.cells[k][0], seen.cells[k]);
        std::printf("  %-50s host knows: %s; %s\n", "", name_of(predicted.host[k]),
                    seen.steps[k].returned ? "returned" : "waits");
      }
      for (std::size_t g = 0; g < program.graphs.size(); ++g) {
        for (std::size_t n = 0; n < program.graphs[g].nodes.size(); ++n) {
          const std::size_t cell = cell_of_node(g, n);
          print_cell("node " + std::to_string(n) + " of graph " + std::to_string(g), predicted.cells[cell][0],
                     seen.cells[cell]);
        }
      }
    }
    if (comparison.disagreements.empty()) continue;
    if (wrong++ == 0) report(program, comparison, "");
  }
  std::printf("%d of 20 runs disagree\n", wrong);
  return wrong != 0;
}

/// 1: one is not the same program when it is read again.
int show_programs(const Campaign& campaign) {
  for (std::uint64_t i = 0; i < campaign.count; ++i) {
    const Program program = random_program(campaign.first_seed + i, campaign.devices);
    const std::string text = describe(program);
    std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(program.seed), text.c_str());
    if (describe(parse(text)) != text) return std::printf("reads differently\n"), 1;
  }
  return 0;
}

std::string json(const Tally& tally, const Machine& machine, const Campaign& campaign) {
  const auto field = [](const char* name, std::uint64_t value) {
    return std::string("  \"") + name + "\": " + std::to_string(value) + ",\n";
  };
  return "{\n  \"gpu\": " + quoted(machine.gpu) + ",\n  \"driver\": " + quoted(machine.driver) +
         ",\n  \"toolkit\": " + quoted(machine.toolkit) + ",\n" + field("devices", campaign.devices) +
         field("first_seed", campaign.first_seed) + field("programs", tally.programs) + field("valid", tally.valid) +
         field("failed", tally.failed) + field("asked", tally.asked) + field("overlaps", tally.overlaps) +
         field("disagreeing", tally.disagreeing) + "  \"seconds\": " + std::to_string(tally.seconds) + "\n}\n";
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // a kernel that is loaded when first launched may wait for the held one
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // fewer queues would order streams among each other
  CommandLine line(argc, argv);
  Campaign campaign;
  campaign.first_seed = line.number("--seed", 1);
  campaign.count = line.number("--count", campaign.count);
  campaign.seconds = line.number("--seconds", campaign.seconds);
  campaign.devices = static_cast<unsigned>(line.number("--devices", 1));
  campaign.shrinks = line.flag("--shrink");
  campaign.planted = static_cast<Planted>(line.number("--plant", 0));
  campaign.kept = line.text("--kept");
  const std::uint64_t settle = line.number("--settle", 2000);
  const std::string one = line.text("--program");
  const bool show = line.flag("--show");
  const std::string out = line.text("--out");
  line.expect_no_more();

  if (show) return show_programs(campaign);
  const Machine machine = make_machine(campaign.devices, settle);
  if (!one.empty()) return run_one(one, *machine.executor, campaign.planted);
  const Tally tally = run(campaign, *machine.executor);
  const std::string text = json(tally, machine, campaign);
  std::printf("%s", text.c_str());
  if (!out.empty()) std::ofstream(out) << text;
  if (tally.disagreeing != 0) return 1;
  return tally.overlaps == 0 ? 2 : 0;
}
