import { useState } from 'preact/hooks'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { type Loaded, useLoad } from '../components/load.tsx'
import { type DiffFiles, readDiffFiles } from './diff-stream.ts'

/**
 * Loads a diff when the component appears, and when `keys` change. The value grows while it
 * arrives.
 */
export function useDiff(
  open: (signal: AbortSignal) => AsyncIterable<HttpBody>,
  keys: readonly unknown[],
): Loaded<DiffFiles> {
  const [arrived, setArrived] = useState<DiffFiles>()
  const whole = useLoad((signal) => readDiffFiles(open(signal), setArrived), keys)
  return { ...whole, value: whole.value ?? arrived }
}
