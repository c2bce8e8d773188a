import type { Timestamp } from '@bufbuild/protobuf/wkt'

/** Converts whole Unix seconds, as stored, to a Timestamp. */
export function atSecond(unixSeconds: number): Timestamp {
  // Equals the result of `create`, in a tenth of the time. Some responses have a thousand times.
  return { $typeName: 'google.protobuf.Timestamp', seconds: BigInt(unixSeconds), nanos: 0 }
}

/** Converts a Timestamp to whole Unix seconds. */
export function secondsOf(time: Timestamp | undefined): number | undefined {
  return time && Number(time.seconds)
}
