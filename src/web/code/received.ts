import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'

/** Received bytes beyond these are handed to the browser, which stores large files on the disk. */
const HELD_BYTES = 8 * 1024 ** 2

/** Time between two reports. Each report draws the page anew. */
const REPORT_EVERY_MS = 100

/**
 * Reads a streamed file. The end of the loop over the stream cancels the call.
 *
 * @param onProgress called with the number of bytes that have arrived.
 * @returns the file; undefined if the file has more than `maxBytes`.
 */
export async function readFile(
  stream: AsyncIterable<HttpBody>,
  maxBytes: number,
  onProgress: (bytes: number) => void,
): Promise<Blob | undefined> {
  let stored: Blob[] = []
  let held: Uint8Array<ArrayBuffer>[] = []
  let [bytes, heldBytes, reportedAtMs] = [0, 0, 0]
  for await (const { data } of stream) {
    bytes += data.length
    if (bytes > maxBytes) return undefined
    // A copy, since a message is a view of a buffer that may be larger.
    held.push(new Uint8Array(data))
    heldBytes += data.length
    if (heldBytes > HELD_BYTES) {
      stored = [...stored, new Blob(held)]
      held = []
      heldBytes = 0
    }
    if (performance.now() - reportedAtMs < REPORT_EVERY_MS) continue
    reportedAtMs = performance.now()
    onProgress(bytes)
  }
  return new Blob([...stored, ...held])
}
