// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel finds its memory in a table of pointers that the host has copied to the device: by a loop, or by its block.
// Silent: memory that is not in the table, and a table that a kernel has written.
#include <cuda_runtime.h>

#include <vector>

constexpr int kVoters = 4, kVotes = 512;

__global__ void vote(float* ballot, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) ballot[i] = i;
}
__global__ void count_votes(const float* const* ballots, int voters, float* total) {
  const int i = threadIdx.x;
  float sum = 0;
  for (int voter = 0; voter < voters; ++voter) sum += ballots[voter][i];
  total[i] = sum;
}
__global__ void clear_each(float** ballots, int n) {
  float* ballot = ballots[blockIdx.x];
  if (threadIdx.x < n) ballot[threadIdx.x] = 0;
}
__global__ void shuffle(float** ballots) { ballots[threadIdx.x] = ballots[threadIdx.x ^ 1]; }

struct Election {
  Election() : ballots(kVoters + 1), lanes(2) {
    for (float*& ballot : ballots) cudaMalloc(&ballot, kVotes * sizeof(float));
    for (cudaStream_t& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&voted, cudaEventDisableTiming);
    cudaMalloc(&table, kVoters * sizeof(float*));
    cudaMalloc(&total, kVotes * sizeof(float));
    cudaMemcpyAsync(table, ballots.data(), kVoters * sizeof(float*), cudaMemcpyHostToDevice, lanes[0]);
    cudaDeviceSynchronize();
  }
  ~Election() { cudaDeviceSynchronize(); }
  std::vector<float*> ballots;
  std::vector<cudaStream_t> lanes;
  cudaEvent_t voted = nullptr;
  float** table = nullptr;
  float* total = nullptr;
};

void late_vote(Election& election) {
  vote<<<1, 64, 0, election.lanes[1]>>>(election.ballots[2], kVotes);
  vote<<<1, 64, 0, election.lanes[0]>>>(election.ballots[3], kVotes);
#ifdef FIXED
  cudaEventRecord(election.voted, election.lanes[1]);
  cudaStreamWaitEvent(election.lanes[0], election.voted, 0);
#endif
  count_votes<<<1, kVotes, 0, election.lanes[0]>>>(election.table, kVoters, election.total);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void by_block(Election& election) {
  vote<<<1, 64, 0, election.lanes[1]>>>(election.ballots[1], kVotes);
#ifdef FIXED
  cudaStreamSynchronize(election.lanes[1]);
#endif
  clear_each<<<kVoters, 128, 0, election.lanes[0]>>>(election.table, 128);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void others(Election& election) {
  vote<<<1, 64, 0, election.lanes[1]>>>(election.ballots[kVoters], kVotes);  // not in the table
  count_votes<<<1, kVotes, 0, election.lanes[0]>>>(election.table, kVoters, election.total);
  cudaDeviceSynchronize();
  vote<<<1, 64, 0, election.lanes[1]>>>(election.ballots[3], kVotes);  // not among the first two
  count_votes<<<1, kVotes, 0, election.lanes[0]>>>(election.table, 2, election.total);
  cudaDeviceSynchronize();
  shuffle<<<1, kVoters, 0, election.lanes[0]>>>(election.table);
  vote<<<1, 64, 0, election.lanes[1]>>>(election.ballots[3], kVotes);
  count_votes<<<1, kVotes, 0, election.lanes[0]>>>(election.table, 2, election.total);
}

int main() {
  Election election;
  late_vote(election);
  by_block(election);
  others(election);
}
