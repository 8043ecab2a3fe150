// Marks of the SDK's profiler: they cost time on a chip and say nothing here.
#pragma once

#define DeviceZoneScopedN(name)
#define DeviceZoneScopedNIf(name, condition)
#define DeviceZoneScopedMainN(name)
#define DeviceZoneScopedMainChildN(name)
#define DeviceZoneScopedSumN1(name)
#define DeviceZoneScopedSumN2(name)
#define DeviceZoneSetCounter(counter)
#define DeviceTimestampedData(name, data) ((void)sizeof(data))
#define DeviceRecordEvent(id) ((void)sizeof(id))
#define DeviceValidateProfiler(condition)
