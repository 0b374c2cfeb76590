// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine runs C++ as a processor would: each program says by its exit code whether it was right.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/memory.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/lowering/tests/parse.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {
namespace {

/// Without CUDA.
class Plain : public World {
 public:
  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) override {
    return library_.call(machine, function, arguments, result);
  }
  bool takes(const llvm::Function&) override { return false; }
  void polled(Machine&) override {}
  void touch(Machine&, Word, std::size_t, bool) override {}

 private:
  Library library_;
};

struct Ended {
  int result = -1;
  std::string stopped;
  std::uint64_t steps = 0;
};

Ended run(const std::string& source, std::uint64_t most_steps = 3'000'000) {
  const auto context = parse(source, {"-std=c++17"}, "input.cpp");
  EXPECT_TRUE(context != nullptr);
  if (context == nullptr) return {};
  const HostModule host(*context);
  const llvm::Function* entry = host.module() == nullptr ? nullptr : host.module()->getFunction("main");
  EXPECT_TRUE(entry != nullptr);
  if (entry == nullptr) return {};
  Plain world;
  Machine machine(*host.module(), world, most_steps);
  machine.run(*entry);
  return {machine.result(), machine.stopped(), machine.steps()};
}

/// It returns 0, having come to its end.
void expect_right(const std::string& source) {
  const Ended done = run(source);
  EXPECT_EQ(done.stopped, "");
  EXPECT_EQ(done.result, 0);
}

TEST(Machine, Arithmetic) {
  expect_right(R"(
    #include <cmath>
    #include <cstdint>
    int main() {
      volatile int a = -7, b = 2;
      volatile unsigned u = 0xfffffff0u;
      volatile double d = 2.25;
      volatile float f = 0.1f;
      volatile std::int8_t narrow = -128;
      if (a / b != -3 || a % b != -1 || (a >> 1) != -4 || u / 16 != 0xfffffff || u + 32 != 16) return 1;
      if (std::sqrt(d) != 1.5 || d * 4 != 9 || static_cast<int>(-d) != -2 || static_cast<double>(f) == 0.1) return 2;
      if (narrow != -128 || static_cast<unsigned char>(narrow) != 128) return 3;
      unsigned __int128 wide = static_cast<unsigned __int128>(1) << 100;
      if (static_cast<int>(wide >> 98) != 4) return 4;
      long double longer = d;
      if (longer / 2 != 1.125L) return 5;
      int sum = 0;
      for (int i = 0; i < 10; ++i) sum += i == 3 ? 0 : i;
      switch (sum) { case 42: return 0; default: return 6; }
    })");
}

TEST(Machine, Containers) {
  expect_right(R"(
    #include <algorithm>
    #include <deque>
    #include <functional>
    #include <list>
    #include <map>
    #include <memory>
    #include <numeric>
    #include <optional>
    #include <set>
    #include <string>
    #include <tuple>
    #include <unordered_map>
    #include <vector>
    int main() {
      std::vector<int> v(100);
      std::iota(v.begin(), v.end(), 0);
      std::rotate(v.begin(), v.begin() + 30, v.end());
      std::sort(v.begin(), v.end(), std::greater<int>());
      if (v.front() != 99 || v[50] != 49) return 1;
      std::map<std::tuple<int, std::string>, int> m;
      for (int i = 0; i < 20; ++i) m[{i % 7, "key " + std::to_string(i)}] = i;
      for (int i = 0; i < 20; i += 3) m.erase({i % 7, "key " + std::to_string(i)});
      if (m.size() != 13 || m.count({1, "key 8"}) != 1 || m.count({2, "key 9"}) != 0) return 2;
      int last = -1;
      for (const auto& [key, value] : m) { if (std::get<0>(key) < last) return 3; last = std::get<0>(key); }
      for (auto it = m.rbegin(); it != m.rend(); ++it) { if (std::get<0>(it->first) > last) return 4; last = std::get<0>(it->first); }
      std::unordered_map<std::string, std::unique_ptr<int>> u;
      for (int i = 0; i < 16; ++i) u.emplace(std::string(i % 10, 'x') + std::to_string(i), std::make_unique<int>(i));
      if (*u.at("x1") != 1 || u.size() != 16) return 5;
      std::list<int> l{1, 2, 3}, other{9};
      l.splice(std::next(l.begin()), other);
      l.remove(2);
      if (l != std::list<int>{1, 9, 3}) return 6;
      std::deque<int> d;
      for (int i = 0; i < 300; ++i) { d.push_back(i); if (i % 3 == 0) d.pop_front(); }
      if (d.front() != 100 || d.size() != 200) return 7;
      std::multimap<int, char> sizes{{4, 'a'}, {8, 'b'}, {8, 'c'}};
      auto found = sizes.lower_bound(5);
      if (found->second != 'b') return 8;
      auto node = sizes.extract(found);
      if (node.mapped() != 'b' || sizes.size() != 2) return 9;
      std::string text = "stream";
      text += " of events";
      text.replace(0, 6, "a long row of letters, longer than fifteen");
      text.insert(2, "very ");
      if (text.find("very") != 2 || text.substr(0, 6) != "a very" || text.rfind('s') + 1 != text.size()) return 10;
      std::function<int(int)> twice = [&](int i) { return i < 1 ? 0 : 2 + twice(i - 1); };
      std::optional<std::shared_ptr<int>> kept = std::make_shared<int>(twice(5));
      return **kept == 10 && kept->use_count() == 1 ? 0 : 11;
    })");
}

TEST(Machine, ClassesAndExceptions) {
  expect_right(R"(
    #include <stdexcept>
    #include <vector>
    struct Base { virtual ~Base() { ++ended; } virtual int kind() const = 0; static int ended; };
    int Base::ended = 0;
    struct Left : virtual Base { int kind() const override { return 1; } };
    struct Right : virtual Base { int extra = 5; };
    struct Both : Left, Right { int kind() const override { return 2 + extra; } };
    struct Own : std::runtime_error { using std::runtime_error::runtime_error; };
    struct Guard { int& n; ~Guard() { ++n; } };
    int deep(int n, int& guards) { Guard guard{guards}; if (n == 0) throw Own("deep"); return deep(n - 1, guards); }
    static int before_main = [] { return 41; }() + 1;
    int main() {
      if (before_main != 42) return 1;
      int guards = 0, caught = 0;
      try { deep(3, guards); } catch (const Own&) { ++caught; }
      try { deep(1, guards); } catch (const std::exception&) { ++caught; }
      try { try { throw 7; } catch (...) { throw; } } catch (int value) { caught += value; }
      try { throw 7; } catch (const char*) { return 2; } catch (...) { ++caught; }
      if (guards != 6 || caught != 10) return 3;
      {
        Both both;
        const Base& base = both;
        if (base.kind() != 7) return 4;
      }
      static int once = 0;
      auto count = [] { static int calls = ++once; return calls; };
      count(), count();
      return Base::ended == 1 && once == 1 ? 0 : 5;
    })");
}

TEST(Machine, Threads) {
  expect_right(R"(
    #include <atomic>
    #include <condition_variable>
    #include <future>
    #include <mutex>
    #include <thread>
    #include <vector>
    int main() {
      std::mutex mutex;
      std::condition_variable changed;
      int turn = 0;
      std::atomic<int> sum{0};
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
          std::unique_lock<std::mutex> lock(mutex);
          changed.wait(lock, [&] { return turn == 2 - i; });
          ++turn;
          sum += i;
          changed.notify_all();
        });
      for (std::thread& thread : threads) thread.join();
      std::packaged_task<int()> task([&] { return sum.load() * 2; });
      std::future<int> later = task.get_future();
      std::thread(std::move(task)).join();
      return turn == 3 && later.get() == 6 ? 0 : 1;
    })");
}

TEST(Machine, EndsWhereItMust) {
  EXPECT_NE(run("int main() { int* p = nullptr; return *p; }").stopped.find("a read outside of all memory"),
            std::string::npos);
  EXPECT_NE(
      run("int main() { *reinterpret_cast<long*>(0x200000100000) = 1; }").stopped.find("writes memory of the device"),
      std::string::npos);
  EXPECT_NE(run("int main(int n, char**) { return 1 / (n - 1); }").stopped.find("division by zero"), std::string::npos);
  EXPECT_NE(run("int f(int n) { return f(n + 1) + 1; } int main() { return f(0); }").stopped.find("too deep"),
            std::string::npos);
  EXPECT_NE(run("#include <stdexcept>\nint main() { throw std::runtime_error(\"x\"); }").stopped.find("nobody catches"),
            std::string::npos);
  EXPECT_NE(run("#include <cstdlib>\nint main() { std::exit(3); }").stopped.find("the program ends"),
            std::string::npos);
  EXPECT_NE(run("#include <thread>\n#include <mutex>\nint main() { std::mutex m; m.lock(); std::thread t([&] { "
                "m.lock(); }); t.join(); }")
                .stopped.find("all threads wait"),
            std::string::npos);
}

/// Where the system places mappings, and where a second machine's memory lies, which does not get the usual place.
TEST(MachineMemory, NoAddressOfTheHostIsOneOfTheDevice) {
  Memory first, second;
  for (Memory* memory : {&first, &second}) {
    ASSERT_TRUE(memory->usable());
    EXPECT_TRUE(Memory::is_device(memory->device(1)));
    for (const Byte* host : {memory->stack(0), memory->heap(1), memory->pinned(1)})
      EXPECT_FALSE(Memory::is_device(reinterpret_cast<Word>(host)));
  }
  void* const large = mmap(nullptr, Memory::kDeviceSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (large == MAP_FAILED) GTEST_SKIP() << "address space is limited";
  for (std::size_t part = 0; part < 1024; ++part)
    EXPECT_FALSE(Memory::is_device(reinterpret_cast<Word>(large) + part * (Memory::kDeviceSize / 1024)));
  munmap(large, Memory::kDeviceSize);
}

/// What only computes is cut short, and the rest follows.
TEST(Machine, LongLoops) {
  const Ended done =
      run("int main() { double sum = 0; for (long i = 0; i < 1000000000000; ++i) sum += i; return sum > 0 ? 0 : 1; }");
  EXPECT_EQ(done.stopped, "");
  EXPECT_EQ(done.result, 0);
  EXPECT_LT(done.steps, 200'000U);
  // Without a way out there is nothing to cut.
  EXPECT_NE(run("int main() { volatile int i = 0; for (;;) i = i + 1; }", 500'000).stopped.find("too many steps"),
            std::string::npos);
}

}  // namespace
}  // namespace streamsan::analyzer::interpreter
