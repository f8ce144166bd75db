/* A stand-in for NVIDIA's management library with two accelerators, which answers as nvml.h documents it.

   Device 0 draws 300 W at its power limit, device 1 draws 60 W and is idle; NVML_STAND_IN=hot slows device 1
   down by heat, =mute has a device 0 without a counter of energy. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int nvmlReturn_t;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };
enum { GPU_IDLE = 0x1, SW_POWER_CAP = 0x4, HW_THERMAL_SLOWDOWN = 0x40 };
struct device { unsigned number, watts, limit, mhz; };
static struct device devices[] = {{0, 300, 700000, 1980}, {1, 60, 350000, 345}};

static int is(const char *mode) {
    const char *set = getenv("NVML_STAND_IN");
    return set && !strcmp(set, mode);
}

static nvmlReturn_t text(const char *value, char *to, unsigned length) {
    if (strlen(value) >= length) return INSUFFICIENT_SIZE;
    strcpy(to, value);
    return SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t code) { return code ? "an error" : "success"; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return SUCCESS; }
nvmlReturn_t nvmlInit_v2(void) { return SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return SUCCESS; }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
    if (index > 1) return INVALID_ARGUMENT;
    *device = &devices[index];
    return SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned length) {
    return text("570.00", to, length);
}

nvmlReturn_t nvmlDeviceGetName(struct device *device, char *to, unsigned length) {
    return text("Stand-in", to, length);
}

nvmlReturn_t nvmlDeviceGetUUID(struct device *device, char *to, unsigned length) {
    char uuid[] = "GPU-0";
    uuid[4] += device->number;
    return text(uuid, to, length);
}

/* Millijoules since the driver was loaded. */
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(struct device *device, unsigned long long *energy) {
    struct timespec now;
    if (is("mute") && !device->number) return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *energy = device->watts * (1000ull * now.tv_sec + now.tv_nsec / 1000000);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClockInfo(struct device *device, int type, unsigned *mhz) {
    if (type != 1) return INVALID_ARGUMENT; /* NVML_CLOCK_SM */
    *mhz = device->mhz;
    return SUCCESS;
}

/* Milliwatts. */
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(struct device *device, unsigned *limit) {
    *limit = device->limit;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(
    struct device *device, unsigned long long *reasons
) {
    *reasons = !device->number ? SW_POWER_CAP : is("hot") ? HW_THERMAL_SLOWDOWN : GPU_IDLE;
    return SUCCESS;
}
