// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// certainty(): the whole table, and the programs it was made for.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

constexpr Range kWhole{1000, 2000};

Access exact(Address begin, Address end) { return {.mode = AccessMode::Write, .range = {begin, end}}; }

Access exact_read(Address begin, Address end) { return {.mode = AccessMode::Read, .range = {begin, end}}; }

Access inferred(Address pointer, std::uint32_t function = 1, std::uint64_t threads = 64, std::uint64_t hash = 5,
                AccessMode mode = AccessMode::Write) {
  return {.mode = mode,
          .source = AccessSource::Kernel,
          .exact = false,
          .range = {pointer, kWhole.end},
          .function = FunctionId{function},
          .device_threads = threads,
          .arguments_hash = hash};
}

/// A launch whose bytes were measured, 64 of them.
Access measured(Address begin, std::uint32_t function, std::uint64_t hash) {
  return {.mode = AccessMode::Write,
          .source = AccessSource::Kernel,
          .range = {begin, begin + 64},
          .function = FunctionId{function},
          .device_threads = 64,
          .arguments_hash = hash};
}

/// Through a texture or surface that is made of these bytes.
Access textured(Address begin, Address end, std::uint32_t function = 1, AccessMode mode = AccessMode::Write) {
  Access access = inferred(begin, function, 64, 5, mode);
  access.bounded = true;
  access.range.end = end;
  return access;
}

Access parted(Access access) { return access.parted = true, access; }
Access learned(Access access) { return access.learned = true, access; }
Access widened(Access access) { return access.widened = true, access; }
Access conditional(Access access) { return access.conditional = true, access; }
Access life(Access access) { return access.source = AccessSource::Free, access; }
Access atomic(Access access) { return access.mode = AccessMode::Atomic, access; }
Access atomic_for_host(Access access) { return access.atomic_for_host = true, atomic(access); }
Access signal(Access access) { return access.signals = true, access; }
Access host(Access access) { return access.source = AccessSource::Host, access; }

struct Row {
  const char* why;
  Access earlier;
  Access later;
  std::optional<Certainty> expected;
};

TEST(CertaintyTable, EveryRowBothWays) {
  const std::optional<Certainty> never;
  const std::optional<Certainty> certain = Certainty::Certain;
  const std::optional<Certainty> possible = Certainty::Possible;
  const Row rows[] = {
      {"exact and exact overlap", exact(1000, 1100), exact(1099, 1200), certain},
      {"exact and exact touch", exact(1000, 1100), exact(1100, 1200), never},
      {"exact holds the pointer, a byte for each thread", exact(1200, 1264), inferred(1200), certain},
      {"exact holds the pointer inside", exact(1150, 1300), inferred(1200), certain},
      {"exact has fewer bytes than threads", exact(1200, 1263), inferred(1200), possible},
      {"exact starts after the pointer", exact(1201, 1900), inferred(1200), possible},
      {"exact ends at the pointer", exact(1000, 1200), inferred(1200), never},
      {"exact is the whole allocation", exact(1000, 2000), inferred(1500, 1, 100000), certain},
      {"measured and inferred, same kernel, other arguments", measured(1200, 1, 6), inferred(1200), possible},
      {"measured and inferred, same kernel, same arguments", measured(1200, 1, 5), inferred(1200), certain},
      {"measured and inferred, other kernel", measured(1200, 2, 6), inferred(1200), certain},
      {"exact is all of the texture", exact(1200, 1400), textured(1200, 1400), certain},
      {"exact is most of the texture", exact(1200, 1399), textured(1200, 1400), possible},
      {"exact begins where the texture ends", exact(1400, 1500), textured(1200, 1400), never},
      {"measured and texture, same kernel, other arguments", measured(1200, 1, 6), textured(1200, 1264), possible},
      {"two kernels, one surface", textured(1200, 1400), textured(1200, 1400, 2, AccessMode::Read), certain},
      {"two kernels, one surface of layers", parted(textured(1200, 1400)),
       parted(textured(1200, 1400, 2, AccessMode::Read)), possible},
      {"two kernels, the first level and all of them", textured(1200, 1300),
       parted(textured(1200, 1400, 2, AccessMode::Read)), possible},
      {"exact is all layers", exact(1200, 1400), parted(textured(1200, 1400)), certain},
      {"a pointer to what the texture is made of", inferred(1200, 2), textured(1200, 1400), certain},
      {"two textures", textured(1200, 1400), textured(1400, 1500, 2), never},
      {"the texture's memory is freed", life(exact(1000, 2000)), textured(1200, 1400), certain},
      {"same pointer, other kernel", inferred(1200, 1), inferred(1200, 2, 64, 6), certain},
      {"same pointer, same kernel, same arguments", inferred(1200, 1), inferred(1200, 1), certain},
      {"same pointer, same kernel, other arguments", inferred(1200, 1, 64, 5), inferred(1200, 1, 64, 6), possible},
      {"other pointer", inferred(1200, 1), inferred(1264, 2), possible},
      {"thread counts within a factor 32", inferred(1200, 1, 64), inferred(1200, 2, 64 * 32), certain},
      {"thread counts further apart", inferred(1200, 1, 64), inferred(1200, 2, 64 * 32 + 1), possible},
      {"huge thread counts", inferred(1200, 1, ~0ull), inferred(1200, 2, ~0ull / 2), certain},
      {"one reads", inferred(1200, 1), inferred(1200, 2, 64, 5, AccessMode::Read), certain},
      {"one may write", inferred(1200, 1), inferred(1200, 2, 64, 5, AccessMode::Unknown), certain},
      {"both may write", inferred(1200, 1, 64, 5, AccessMode::Unknown), inferred(1200, 2, 64, 5, AccessMode::Unknown),
       possible},
      {"one may write, one reads", inferred(1200, 1, 64, 5, AccessMode::Unknown),
       inferred(1200, 2, 64, 5, AccessMode::Read), possible},
      {"an exact write, a kernel that may read", exact(1200, 1264), inferred(1200, 1, 64, 5, AccessMode::Read),
       certain},
      {"an exact read, a kernel that writes", exact_read(1200, 1264), inferred(1200), certain},
      {"an exact read, a kernel that may write", exact_read(1200, 1264), inferred(1200, 1, 64, 5, AccessMode::Unknown),
       possible},
      {"an exact read of all, a kernel that may write", exact_read(1000, 2000),
       inferred(1200, 1, 64, 5, AccessMode::Unknown), possible},
      {"learned and exact overlap", learned(exact(1000, 1100)), exact(1050, 1200), possible},
      {"learned and exact touch", learned(exact(1000, 1100)), exact(1100, 1200), never},
      {"learned and all", learned(exact(1000, 1100)), exact(1000, 2000), possible},
      {"learned and inferred", learned(exact(1200, 1264)), inferred(1200), possible},
      {"learned that ends at the pointer", learned(exact(1000, 1200)), inferred(1200), never},
      {"learned and the end of the allocation", learned(exact(1000, 1100)), life(exact(1000, 2000)), certain},
      {"widened and the end of the allocation", widened(exact(1000, 1100)), life(exact(1000, 2000)), possible},
      {"both learned", learned(exact(1000, 1100)), learned(exact(1000, 1100)), possible},
      {"widened and exact", widened(exact(1000, 1100)), exact(1050, 1200), possible},
      {"conditional and exact", conditional(exact(1000, 1100)), exact(1050, 1200), possible},
      {"conditional and exact touch", conditional(exact(1000, 1100)), exact(1100, 1200), never},
      {"conditional and the end of the allocation", conditional(exact(1000, 1100)), life(exact(1000, 2000)), possible},
      {"inferred and conditional", inferred(1200), conditional(inferred(1200)), possible},
      {"widened and all", widened(exact(1000, 1100)), exact(1000, 2000), possible},
      {"an atomic for the host and the host", atomic_for_host(exact(1000, 1100)), host(exact(1000, 1004)), possible},
      {"the host and an atomic for the host", host(exact_read(1000, 1004)), atomic_for_host(exact(1000, 1100)),
       possible},
      {"an atomic of the device and the host", atomic(exact(1000, 1100)), host(exact(1000, 1004)), certain},
      {"an atomic for the host and a copy", atomic_for_host(exact(1000, 1100)), exact(1000, 1004), certain},
      {"a store for the host and the host", signal(exact(1000, 1004)), host(exact_read(1000, 1004)), possible},
      {"a store for the host and a copy", signal(exact(1000, 1004)), exact_read(1000, 1004), certain},
      {"two stores for the host", signal(exact(1000, 1004)), signal(exact(1000, 1004)), certain},
      {"an atomic and a write", atomic(exact(1000, 1100)), exact(1000, 1100), certain},
      {"an atomic and a read", atomic(exact(1000, 1100)), exact_read(1000, 1100), certain},
      {"an atomic, a kernel that reads", atomic(exact(1200, 1264)), inferred(1200, 1, 64, 5, AccessMode::Read),
       certain},
      {"a write, a kernel that updates by atomics", exact(1200, 1264), inferred(1200, 1, 64, 5, AccessMode::Atomic),
       certain},
      {"a read, a kernel that updates by atomics", exact_read(1200, 1264), inferred(1200, 1, 64, 5, AccessMode::Atomic),
       certain},
      {"a write behind the pointer, a kernel that updates by atomics", exact(1264, 1328),
       inferred(1200, 1, 64, 5, AccessMode::Atomic), possible},
      {"an atomic, a kernel that may write by atomics", atomic(exact(1200, 1264)), inferred(1200), possible},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(certainty(row.earlier, row.later, kWhole), row.expected) << row.why;
    EXPECT_EQ(certainty(row.later, row.earlier, kWhole), row.expected) << row.why << ", the other way";
  }
}

class CertaintyPrograms : public ModelTest {
 protected:
  std::vector<Certainty> certainties() {
    std::vector<Certainty> all;
    for (const Hazard& hazard : found()) all.push_back(hazard.certainty);
    return all;
  }
};

TEST_F(CertaintyPrograms, FourSlicesOfOneAllocationAreAtMostPossible) {
  const Address a = memory();
  for (Address i = 0; i < 4; ++i) kernel(non_blocking(), 1, a + i * 1024, AccessMode::Write, 256, i);
  const std::vector<Certainty> all = certainties();
  EXPECT_FALSE(all.empty());
  for (const Certainty each : all) EXPECT_EQ(each, Certainty::Possible);
}

TEST_F(CertaintyPrograms, FourSlicesByAnIndexArgumentAreAtMostPossible) {
  const Address a = memory();
  for (std::uint64_t i = 0; i < 4; ++i) kernel(non_blocking(), 1, a, AccessMode::Write, 256, i);
  for (const Certainty each : certainties()) EXPECT_EQ(each, Certainty::Possible);
}

TEST_F(CertaintyPrograms, ProducerAndConsumerOfOnePointerAreCertain) {
  const Address a = memory();
  kernel(non_blocking(), 1, a, AccessMode::Write);
  kernel(non_blocking(), 2, a, AccessMode::Read);
  EXPECT_EQ(certainties(), std::vector<Certainty>{Certainty::Certain});
}

TEST_F(CertaintyPrograms, ReadersThroughPointersToNonConstAreAtMostPossible) {
  const Address weights = memory();
  kernel(non_blocking(), 1, weights);
  kernel(non_blocking(), 2, weights);
  EXPECT_EQ(certainties(), std::vector<Certainty>{Certainty::Possible});
}

TEST_F(CertaintyPrograms, ReadOnlyPointersDoNotConflict) {
  const Address a = memory();
  kernel(non_blocking(), 1, a, AccessMode::Read);
  kernel(non_blocking(), 2, a, AccessMode::Read);
  EXPECT_TRUE(certainties().empty());
}

TEST_F(CertaintyPrograms, ACopyBeforeThePointerCannotMeet) {
  const Address a = memory();
  kernel(non_blocking(), 1, a + 1024);
  write(non_blocking(), a);
  EXPECT_TRUE(certainties().empty());
}

TEST_F(CertaintyPrograms, TheCertainConflictIsPreferred) {
  const Address a = memory();
  const StreamId s = non_blocking();
  kernel(s, 1, a, AccessMode::Write);
  kernel(s, 2, a + 512);
  kernel(s, 3, a + 1024);
  kernel(non_blocking(), 4, a, AccessMode::Read);
  EXPECT_EQ(certainties(), std::vector<Certainty>{Certainty::Certain});
}

TEST_F(CertaintyPrograms, ReadersAfterTheWriterDoNotHideIt) {
  const Address weights = memory();
  const StreamId s = non_blocking();
  kernel(s, 1, weights, AccessMode::Write);
  for (std::uint32_t reader = 2; reader < 20; ++reader) kernel(s, reader, weights);
  kernel(non_blocking(), 30, weights, AccessMode::Read);
  EXPECT_EQ(certainties(), std::vector<Certainty>{Certainty::Certain});
}

TEST_F(CertaintyPrograms, ManyPointersOfAnUnorderedStreamGiveOneHazard) {
  const Address a = memory();
  const StreamId s = non_blocking();
  for (Address i = 0; i < 100; ++i) kernel(s, 1, a + i * 8);
  kernel(non_blocking(), 2, a + 5);
  EXPECT_EQ(certainties(), std::vector<Certainty>{Certainty::Possible});
}

}  // namespace
}  // namespace streamsan::ordering::testing
