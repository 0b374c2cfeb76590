// Frame ingest: raw frames go through two pinned slots to the device, demosaic runs on its own stream.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define GPU(x) gpuAssert((x), #x, __LINE__)
static void gpuAssert(cudaError_t c, const char *what, int line) {
    if (c != cudaSuccess) { fprintf(stderr, "%s (line %d): %s\n", what, line, cudaGetErrorString(c)); exit(2); }
}

struct frame_slot {
    uint16_t   *pinned;
    uint16_t   *raw;         /* device */
    cudaEvent_t uploaded;    /* pinned may be refilled */
    cudaEvent_t consumed;    /* raw may be overwritten */
};

struct ingest {
    int          width, height;
    cudaStream_t copy, isp;
    frame_slot   slot[2];
    float       *luma;       /* device, accumulated brightness */
};

static size_t frame_bytes(const ingest *in) { return sizeof(uint16_t) * in->width * in->height; }

__global__ void accumulate_luma(const uint16_t *raw, float *luma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) luma[i] += raw[i] * (1.0f / 4096.0f);
}

static void ingest_open(ingest *in, int w, int h) {
    in->width = w;
    in->height = h;
    GPU(cudaStreamCreateWithFlags(&in->copy, cudaStreamNonBlocking));
    GPU(cudaStreamCreateWithFlags(&in->isp, cudaStreamNonBlocking));
    for (frame_slot &s : in->slot) {
        GPU(cudaMallocHost(&s.pinned, frame_bytes(in)));
        GPU(cudaMalloc(&s.raw, frame_bytes(in)));
        GPU(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming | cudaEventBlockingSync));
        GPU(cudaEventCreateWithFlags(&s.consumed, cudaEventDisableTiming));
    }
    GPU(cudaMalloc(&in->luma, sizeof(float) * w * h));
    GPU(cudaMemsetAsync(in->luma, 0, sizeof(float) * w * h, in->isp));
}

static void ingest_push(ingest *in, const uint16_t *sensor, unsigned seq) {
    frame_slot &s = in->slot[seq & 1];
    const int n = in->width * in->height;

    GPU(cudaEventSynchronize(s.uploaded));
    memcpy(s.pinned, sensor, frame_bytes(in));

    GPU(cudaStreamWaitEvent(in->copy, s.consumed, 0));
    GPU(cudaMemcpyAsync(s.raw, s.pinned, frame_bytes(in), cudaMemcpyHostToDevice, in->copy));
    GPU(cudaEventRecord(s.uploaded, in->copy));

    GPU(cudaStreamWaitEvent(in->isp, s.uploaded, 0));
    accumulate_luma<<<(n + 255) / 256, 256, 0, in->isp>>>(s.raw, in->luma, n);
    GPU(cudaGetLastError());
    GPU(cudaEventRecord(s.consumed, in->isp));
}

static void ingest_close(ingest *in, float *luma_host) {
    GPU(cudaStreamSynchronize(in->copy));
    GPU(cudaStreamSynchronize(in->isp));
    GPU(cudaMemcpy(luma_host, in->luma, sizeof(float) * in->width * in->height, cudaMemcpyDeviceToHost));
    for (frame_slot &s : in->slot) {
        GPU(cudaFreeHost(s.pinned));
        GPU(cudaFree(s.raw));
        GPU(cudaEventDestroy(s.uploaded));
        GPU(cudaEventDestroy(s.consumed));
    }
    GPU(cudaFree(in->luma));
    GPU(cudaStreamDestroy(in->copy));
    GPU(cudaStreamDestroy(in->isp));
}

int main() {
    const int w = 640, h = 480;
    uint16_t *sensor = (uint16_t *)malloc(sizeof(uint16_t) * w * h);
    float *luma = (float *)malloc(sizeof(float) * w * h);
    ingest in;
    ingest_open(&in, w, h);
    for (unsigned seq = 0; seq < 60; ++seq) {
        for (int i = 0; i < w * h; ++i) sensor[i] = (uint16_t)((i * 7 + seq) & 0xfff);
        ingest_push(&in, sensor, seq);
    }
    ingest_close(&in, luma);
    printf("%g\n", luma[w * h / 2]);
    free(sensor);
    free(luma);
    return 0;
}
