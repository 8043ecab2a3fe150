// Zones of the SDK's profiler: the clock says when each processor enters and leaves them. Its other marks say nothing here.
#pragma once

#include "vd/abi.h"

namespace vd {

class Zone {
public:
    explicit Zone(const char* name, uint32_t line = __builtin_LINE()) : name_(name), line_(line) { vd_zone(name_, true, line_); }
    ~Zone() { vd_zone(name_, false, line_); }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;

private:
    const char* name_;
    uint32_t line_;
};

}  // namespace vd

#define VD_ZONE_JOIN(a, b) a##b
#define VD_ZONE_NAME(number) VD_ZONE_JOIN(vd_zone_, number)

#define DeviceZoneScopedN(name) const ::vd::Zone VD_ZONE_NAME(__COUNTER__)(name)
#define DeviceZoneScopedNIf(name, condition)
#define DeviceZoneScopedMainN(name) DeviceZoneScopedN(name)
#define DeviceZoneScopedMainChildN(name) DeviceZoneScopedN(name)
#define DeviceZoneScopedSumN1(name)
#define DeviceZoneScopedSumN2(name)
#define DeviceZoneSetCounter(counter)
#define DeviceTimestampedData(name, data) ((void)sizeof(data))
#define DeviceRecordEvent(id) ((void)sizeof(id))
#define DeviceValidateProfiler(condition)
