// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/models/host_calls.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace streamsan::analyzer {
namespace {

TEST(HostCalls, VersionsOfDriverFunctionsAreTheFunction) {
  EXPECT_EQ(host_call("cuMemGetInfo_v2"), HostCall::FreeMemory);
  EXPECT_EQ(host_call("cuStreamWriteValue64_v2"), HostCall::WriteWord64);
  EXPECT_EQ(host_call("cuStreamAddCallback_ptsz"), HostCall::Callback);
  EXPECT_EQ(host_call("cudaMemGetInfo_v2"), HostCall::None);  // there is none
}

TEST(HostCalls, WhatIsNotInTheTableIsNothing) {
  for (const char* name : {"", "cu", "cudaMalloc", "GetDevice", "cudaGetDeviceX", "my_cudaGetDevice"})
    EXPECT_EQ(host_call(name), HostCall::None) << name;
}

TEST(HostCalls, NamesAreInTheTableOnceAndOfCuda) {
  std::set<std::string> seen;
  const auto look = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      const std::string_view shown = name;
      EXPECT_TRUE(is_cuda_name(shown.starts_with("__") ? shown.substr(2) : shown)) << name;
      EXPECT_NE(host_call(name), HostCall::None) << name;
    }
  };
#define SS_HOST_CALL(what_, ...) look({__VA_ARGS__});
#include "analyzer/models/host_calls.def"
#undef SS_HOST_CALL
}

TEST(HostCalls, MessagesAreThoseOfTwoLibraries) {
  EXPECT_EQ(message_call("MPI_Comm_rank"), MessageCall::MpiRank);
  EXPECT_EQ(message_call("PMPI_Comm_size"), MessageCall::MpiRanks);
  EXPECT_EQ(message_call("PMPI_Send"), MessageCall::Mpi);
  EXPECT_EQ(message_call("ucp_tag_send_nbx"), MessageCall::Ucx);
  EXPECT_EQ(message_call("MPIX_Send"), MessageCall::None);
}

TEST(HostCalls, DeviceIsChosenByFunctionsAndGuards) {
  EXPECT_TRUE(chooses_device("cudaSetDevice"));
  EXPECT_TRUE(chooses_device("MaybeSetDevice"));
  EXPECT_FALSE(chooses_device("cudaSetDeviceFlags"));
  EXPECT_TRUE(guards_device("CUDAGuard"));
  EXPECT_FALSE(guards_device("CUDAStream"));
}

}  // namespace
}  // namespace streamsan::analyzer
