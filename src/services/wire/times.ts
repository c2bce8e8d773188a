import { create } from '@bufbuild/protobuf'
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt'

/** Converts Unix seconds, as stored, to a Timestamp. */
export function atSecond(unixSeconds: number): Timestamp {
  const timestamp = create(TimestampSchema)
  timestamp.seconds = BigInt(unixSeconds)
  return timestamp
}
