// Marks of the SDK's profiler. Named zones are measured by the clock; the others say nothing here.
#pragma once

extern "C" void vd_zone(const char* name, bool begins);

namespace vd {

struct Zone {
    const char* name;
    explicit Zone(const char* named) : name(named) { vd_zone(name, true); }
    ~Zone() { vd_zone(name, false); }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;
};

}  // namespace vd

#define VD_ZONE_OF_LINE(name, line) const vd::Zone vd_zone_##line(name)
#define VD_ZONE_AT(name, line) VD_ZONE_OF_LINE(name, line)
#define DeviceZoneScopedN(name) VD_ZONE_AT(name, __LINE__)
#define DeviceZoneScopedNIf(name, condition)
#define DeviceZoneScopedMainN(name)
#define DeviceZoneScopedMainChildN(name)
#define DeviceZoneScopedSumN1(name)
#define DeviceZoneScopedSumN2(name)
#define DeviceZoneSetCounter(counter)
#define DeviceTimestampedData(name, data) ((void)sizeof(data))
#define DeviceRecordEvent(id) ((void)sizeof(id))
#define DeviceValidateProfiler(condition)
