import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { type FileDiff, readDiff } from './diff.ts'

/** A browser holds this much without a pause. The rest is for `git` and the API. */
const MAX_DIFF_BYTES = 16 * 1024 * 1024

/** Time between two looks at what has arrived. Each look draws the page anew. */
const LOOK_EVERY_MS = 200

const FILE_START = '\ndiff --git '

/** The changed files that have arrived. */
export interface DiffFiles {
  readonly files: readonly FileDiff[]
  /** Whether there are more files than a browser can hold. */
  readonly isCut: boolean
  /** Whether no more files follow. */
  readonly isComplete: boolean
}

/** Reads a streamed diff. The first files are there before the last ones arrive. */
export async function readDiffFiles(
  stream: AsyncIterable<HttpBody>,
  onArrival: (arrived: DiffFiles) => void,
): Promise<DiffFiles> {
  const decoder = new TextDecoder()
  let files: readonly FileDiff[] = []
  let rest = ''
  let bytes = 0
  let lookedAtMs = 0
  for await (const { data } of stream) {
    const known = Math.max(0, rest.length - FILE_START.length)
    rest += decoder.decode(data, { stream: true })
    bytes += data.length
    const start = rest.lastIndexOf(FILE_START)
    if (start >= known) {
      files = files.concat(readDiff(rest.slice(0, start + 1)))
      rest = rest.slice(start + 1)
      if (performance.now() - lookedAtMs > LOOK_EVERY_MS) {
        lookedAtMs = performance.now()
        onArrival({ files, isCut: false, isComplete: false })
      }
    }
    if (bytes >= MAX_DIFF_BYTES)
      return { files: files.concat(readDiff(rest)), isCut: true, isComplete: true }
  }
  rest += decoder.decode()
  return { files: files.concat(readDiff(rest)), isCut: false, isComplete: true }
}
