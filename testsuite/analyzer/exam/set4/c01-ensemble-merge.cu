/* Ensemble Kalman step: members are propagated on their own streams, the mean is formed in between. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS 6

#define CK(x)                                                                           \
    do {                                                                                \
        cudaError_t rc_ = (x);                                                          \
        if (rc_ != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));\
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

struct ensemble {
    int n;
    float *state[MEMBERS];
    cudaStream_t stream[MEMBERS];
    float *mean;       /* device */
    float *norm;       /* device, one value */
    float host_norm;
};

struct member_table {
    const float *p[MEMBERS];
};

__global__ void propagate(float *x, const float *mean, int n, float dt, float pull)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += dt * (__sinf(x[i]) + pull * (mean[i] - x[i]));
}

__global__ void form_mean(struct member_table t, float *mean, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = 0.f;
    for (int m = 0; m < MEMBERS; m++)
        s += t.p[m][i];
    mean[i] = s / MEMBERS;
}

__global__ void sum_squares(const float *mean, float *norm, int n)
{
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += mean[i] * mean[i];
    atomicAdd(norm, s);
}

static void ensemble_init(struct ensemble *e, int n)
{
    e->n = n;
    for (int m = 0; m < MEMBERS; m++) {
        CK(cudaStreamCreate(&e->stream[m]));
        CK(cudaMalloc((void **)&e->state[m], n * sizeof(float)));
        CK(cudaMemset(e->state[m], m, n * sizeof(float)));
    }
    CK(cudaMalloc((void **)&e->mean, n * sizeof(float)));
    CK(cudaMalloc((void **)&e->norm, sizeof(float)));
    CK(cudaMemset(e->mean, 0, n * sizeof(float)));
}

static void ensemble_forecast(struct ensemble *e, float dt)
{
    for (int m = 0; m < MEMBERS; m++)
        propagate<<<(e->n + 255) / 256, 256, 0, e->stream[m]>>>(e->state[m], e->mean, e->n, dt, 0.1f * m);
    CK(cudaGetLastError());
}

static void ensemble_mean(struct ensemble *e)
{
    struct member_table t;
    for (int m = 0; m < MEMBERS; m++)
        t.p[m] = e->state[m];
    form_mean<<<(e->n + 255) / 256, 256>>>(t, e->mean, e->n);
    CK(cudaGetLastError());
}

static float ensemble_norm(struct ensemble *e)
{
    CK(cudaMemset(e->norm, 0, sizeof(float)));
    sum_squares<<<64, 256>>>(e->mean, e->norm, e->n);
    CK(cudaMemcpy(&e->host_norm, e->norm, sizeof(float), cudaMemcpyDeviceToHost));
    return e->host_norm;
}

static void ensemble_free(struct ensemble *e)
{
    CK(cudaDeviceSynchronize());
    for (int m = 0; m < MEMBERS; m++) {
        CK(cudaFree(e->state[m]));
        CK(cudaStreamDestroy(e->stream[m]));
    }
    CK(cudaFree(e->mean));
    CK(cudaFree(e->norm));
}

int main(void)
{
    struct ensemble e;
    ensemble_init(&e, 1 << 20);
    for (int step = 0; step < 400; step++) {
        ensemble_forecast(&e, 1e-3f);
        ensemble_mean(&e);
        if (step % 100 == 99)
            printf("%d %g\n", step, ensemble_norm(&e));
    }
    ensemble_free(&e);
    return 0;
}
