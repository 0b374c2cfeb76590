/* Ring set-up of a small collective library: fills the per-channel device
 * descriptors and starts the proxy kernel. */
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  float *sendBuff;
  float *recvBuff;
  int    prevRank;
  int    nextRank;
  size_t chunkElems;
} channelDesc;

typedef struct {
  int          rank;
  int          nRanks;
  int          nChannels;
  size_t       buffElems;
  float      **peerBuffs;     /* host array, one mapped device buffer for each rank */
  channelDesc *devChannels;
} ringComm;

#define COMMCHECK(cmd, label)                                                   \
  do {                                                                          \
    cudaError_t r_ = (cmd);                                                     \
    if (r_ != cudaSuccess) {                                                    \
      fprintf(stderr, "ring: %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(r_)); \
      ret = 1;                                                                  \
      goto label;                                                               \
    }                                                                           \
  } while (0)

__global__ void primeChannels(channelDesc *ch)
{
  channelDesc d = ch[blockIdx.x];
  for (size_t i = threadIdx.x; i < d.chunkElems; i += blockDim.x) d.sendBuff[i] = 0.f;
}

int ringCommConnect(ringComm *comm, cudaStream_t stream)
{
  int ret = 0;
  channelDesc *desc = NULL;

  COMMCHECK(cudaMalloc((void **)&comm->devChannels, comm->nChannels * sizeof(channelDesc)), out);
  COMMCHECK(cudaHostAlloc((void **)&desc, sizeof(channelDesc), cudaHostAllocDefault), out);

  for (int c = 0; c < comm->nChannels; c++) {
    int stride = 1 + c % (comm->nRanks > 1 ? comm->nRanks - 1 : 1);
    desc->prevRank   = (comm->rank - stride + comm->nRanks) % comm->nRanks;
    desc->nextRank   = (comm->rank + stride) % comm->nRanks;
    desc->chunkElems = comm->buffElems / comm->nChannels;
    desc->sendBuff   = comm->peerBuffs[comm->rank] + c * desc->chunkElems;
    desc->recvBuff   = comm->peerBuffs[desc->prevRank] + c * desc->chunkElems;
    COMMCHECK(cudaMemcpyAsync(comm->devChannels + c, desc, sizeof(channelDesc),
                              cudaMemcpyHostToDevice, stream), drain);
  }

  primeChannels<<<comm->nChannels, 128, 0, stream>>>(comm->devChannels);
  COMMCHECK(cudaGetLastError(), drain);

drain:
  if (cudaStreamSynchronize(stream) != cudaSuccess) ret = 1;
out:
  if (desc != NULL) cudaFreeHost(desc);
  return ret;
}

int ringCommDestroy(ringComm *comm, cudaStream_t stream)
{
  int ret = 0;
  COMMCHECK(cudaStreamSynchronize(stream), out);
  COMMCHECK(cudaFree(comm->devChannels), out);
  comm->devChannels = NULL;
out:
  return ret;
}
