/* Stands in for NVIDIA's libnvidia-ml.so.1, with as much of it as hotcb asks for and types as
 * its documentation has them. HOTCB_TEST_NVML_MODE says what it does: by default there are
 * two GPUs, of which the second fails at half of what it is asked; "refuse", "none", "many",
 * "closed" (no device may be opened), "slow" (it takes long to start).
 *
 * Built as NVML_OLD it lacks what is new and the temperature; as NVML_LACKING, what must be
 * there. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOW_NS 150000000
#define GIB (1ULL << 30)
#define SUCCESS 0
#define NOT_SUPPORTED 3
#define NO_PERMISSION 4
#define DRIVER_NOT_LOADED 9

struct device {
    int broken;
};

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

struct process_1 {
    unsigned pid;
    unsigned long long memory;
};

struct process_2 {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

static struct device devices[] = {{0}, {1}};

static int is_mode(const char *name)
{
    const char *mode = getenv("HOTCB_TEST_NVML_MODE");
    return mode && strcmp(mode, name) == 0;
}

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int nvmlInit_v2(void)
{
    for (long long from = cpu_ns(); is_mode("slow") && cpu_ns() - from < SLOW_NS;)
        ;
    return is_mode("refuse") ? DRIVER_NOT_LOADED : SUCCESS;
}

#ifndef NVML_LACKING
int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = is_mode("none") ? 0 : is_mode("many") ? 20 : 2;
    return SUCCESS;
}
#endif

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    *device = &devices[index % 2];
    return is_mode("closed") || (is_mode("many") && index == 0) ? NO_PERMISSION : SUCCESS;
}

int nvmlDeviceGetName(const struct device *device, char *out, unsigned n)
{
    strncpy(out, "Stub 9000", n);
    return device->broken ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetUtilizationRates(const struct device *device, struct utilization *out)
{
    (void)device;
    *out = (struct utilization){37, 12};
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(const struct device *device, struct memory *out)
{
    *out = (struct memory){24 * GIB, 20 * GIB, 4 * GIB};
    return device->broken ? NOT_SUPPORTED : SUCCESS;
}

#ifndef NVML_OLD
int nvmlDeviceGetTemperature(const struct device *device, unsigned sensor, unsigned *out)
{
    (void)device;
    *out = sensor == 0 ? 61 : 0;
    return SUCCESS;
}

/* Of a device that is divided: two parts are this process's. */
int nvmlDeviceGetComputeRunningProcesses_v3(const struct device *device, unsigned *n,
                                            struct process_2 *out)
{
    unsigned self = (unsigned)getpid();
    if (*n < 3)
        return NOT_SUPPORTED;
    *n = 3;
    out[0] = (struct process_2){self, 1 * GIB, 1, 0};
    out[1] = (struct process_2){self + 1, 7 * GIB, 2, 0};
    out[2] = (struct process_2){self, 2 * GIB, 3, 0};
    return device->broken ? NOT_SUPPORTED : SUCCESS;
}
#else
/* On the broken one it does not say how much. */
int nvmlDeviceGetComputeRunningProcesses(const struct device *device, unsigned *n,
                                         struct process_1 *out)
{
    unsigned self = (unsigned)getpid();
    if (*n < 2)
        return NOT_SUPPORTED;
    *n = 2;
    out[0] = (struct process_1){self + 1, 7 * GIB};
    out[1] = (struct process_1){self, device->broken ? ~0ULL : 3 * GIB};
    return SUCCESS;
}
#endif
