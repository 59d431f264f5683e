/* GPUs by NVML, the management library of NVIDIA's driver, which is looked for when somebody
 * first asks and then stays. Its types are as in NVIDIA's "NVML API Reference Guide"
 * (docs.nvidia.com/deploy/nvml-api), the part of them that is used. Whatever of it is missing
 * or fails is not known; nothing here is an error. */
#include "system/system.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libnvidia-ml.so.1"
#define SUCCESS 0                    /* NVML_SUCCESS */
#define TEMPERATURE_OF_CHIP 0        /* NVML_TEMPERATURE_GPU */
#define NOT_AVAILABLE (~0ULL)        /* NVML_VALUE_NOT_AVAILABLE */
#define PROCESSES 64                 /* on one device; of more, ours is not known */

struct utilisation { /* nvmlUtilization_t: percent of the last sampling period */
    unsigned gpu, memory;
};

struct memory { /* nvmlMemory_t: bytes */
    unsigned long long total, free, used;
};

struct process { /* nvmlProcessInfo_v2_t: of the functions that end in _v2 and _v3 */
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct process_1 { /* nvmlProcessInfo_v1_t: of the one without an ending */
    unsigned pid;
    unsigned long long memory;
};

/* The functions that were found, and what is wrong, if nothing works. */
struct nvml {
    int (*init)(void);
    int (*count)(unsigned *n);
    int (*device)(unsigned index, void **device);
    int (*name)(void *device, char *out, unsigned n);
    int (*utilisation)(void *device, struct utilisation *out);
    int (*memory)(void *device, struct memory *out);
    int (*temperature)(void *device, unsigned sensor, unsigned *out);
    int (*processes_3)(void *device, unsigned *n, struct process *out);
    int (*processes_2)(void *device, unsigned *n, struct process *out);
    int (*processes_1)(void *device, unsigned *n, struct process_1 *out);
    char problem[120];
};

static const struct {
    const char *name;
    size_t place;
} symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, device)},
    {"nvmlDeviceGetName", offsetof(struct nvml, name)},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilisation)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature)},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml, processes_3)},
    {"nvmlDeviceGetComputeRunningProcesses_v2", offsetof(struct nvml, processes_2)},
    {"nvmlDeviceGetComputeRunningProcesses", offsetof(struct nvml, processes_1)},
};

/* ---- the door ------------------------------------------------------------------ */

static struct nvml nvml; /* written once, before loaded is */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool loaded;

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy((char *)&nvml + symbols[i].place, &symbol, sizeof symbol);
    }
    int status = nvml.init && nvml.count && nvml.device ? nvml.init() : SUCCESS;
    if (!library)
        strcpy(nvml.problem, "NVML is not here (" LIBRARY " of NVIDIA's driver cannot be loaded)");
    else if (!nvml.init || !nvml.count || !nvml.device)
        strcpy(nvml.problem, LIBRARY " lacks functions that NVML must have");
    else if (status != SUCCESS)
        snprintf(nvml.problem, sizeof nvml.problem, "NVML does not start: nvmlInit_v2 says %d",
                 status);
    atomic_store_explicit(&loaded, true, memory_order_release);
}

bool hcb_system_knows_gpus(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

void hcb_system_load_gpus(void)
{
    pthread_once(&once, load);
}

/* ---- one device ---------------------------------------------------------------- */

static int64_t bytes_of(unsigned long long n)
{
    return n <= INT64_MAX ? (int64_t)n : -1;
}

static void note_process(unsigned pid, unsigned long long memory, int64_t *total)
{
    if (pid == (unsigned)getpid() && memory != NOT_AVAILABLE)
        *total = (*total < 0 ? 0 : *total) + bytes_of(memory);
}

static int64_t memory_by_1(void *device)
{
    struct process_1 list[PROCESSES];
    unsigned n = PROCESSES;
    int64_t total = -1;
    if (nvml.processes_1(device, &n, list) == SUCCESS)
        for (unsigned i = 0; i < n && i < PROCESSES; i++)
            note_process(list[i].pid, list[i].memory, &total);
    return total;
}

/* Each part that a device is divided into has a line of its own. A process that is not in
 * the list may be there by the number that it has outside of its container. */
static int64_t own_memory(void *device)
{
    struct process list[PROCESSES];
    unsigned n = PROCESSES;
    int64_t total = -1;
    int (*ask)(void *, unsigned *, struct process *) =
        nvml.processes_3 ? nvml.processes_3 : nvml.processes_2;
    if (!ask)
        return nvml.processes_1 ? memory_by_1(device) : -1;
    if (ask(device, &n, list) == SUCCESS)
        for (unsigned i = 0; i < n && i < PROCESSES; i++)
            note_process(list[i].pid, list[i].memory, &total);
    return total;
}

static void read_name(void *device, unsigned index, struct hcb_gpu *gpu)
{
    if (!nvml.name || nvml.name(device, gpu->name, sizeof gpu->name) != SUCCESS)
        snprintf(gpu->name, sizeof gpu->name, "GPU %u", index);
    gpu->name[sizeof gpu->name - 1] = '\0';
}

static void read_device(void *device, unsigned index, struct hcb_gpu *gpu)
{
    struct utilisation utilisation;
    struct memory memory;
    unsigned degrees;
    *gpu = (struct hcb_gpu){.utilisation = -1, .memory_used = -1, .memory_total = -1,
                            .process_memory = own_memory(device), .temperature = -1};
    read_name(device, index, gpu);
    if (nvml.utilisation && nvml.utilisation(device, &utilisation) == SUCCESS)
        gpu->utilisation = utilisation.gpu;
    if (nvml.memory && nvml.memory(device, &memory) == SUCCESS) {
        gpu->memory_used = bytes_of(memory.used);
        gpu->memory_total = bytes_of(memory.total);
    }
    if (nvml.temperature && nvml.temperature(device, TEMPERATURE_OF_CHIP, &degrees) == SUCCESS)
        gpu->temperature = degrees;
}

int hcb_system_gpus(struct hcb_gpu gpus[HCB_GPUS], const char **why)
{
    unsigned count = 0;
    int n = 0;
    if (!hcb_system_knows_gpus()) {
        if (why)
            *why = "NVML is being loaded: ask again in a later call";
        return 0;
    }
    const char *problem = nvml.problem;
    if (!*problem && nvml.count(&count) != SUCCESS)
        problem = "NVML cannot count the GPUs";
    else if (!*problem)
        problem = count > 0 ? "NVML lets this process look at none of the GPUs" : "there is no GPU";
    for (unsigned i = 0; i < count && n < HCB_GPUS; i++) {
        void *device = NULL;
        if (nvml.device(i, &device) == SUCCESS)
            read_device(device, i, &gpus[n++]);
    }
    if (why)
        *why = n == 0 ? problem : NULL;
    return n;
}
