declare global {
  interface Document {
    /** The calls that the document has begun itself, by `keyOf`, until the page takes their answers. */
    begunCalls?: Map<string, Promise<Response>>
  }
}

/** Returns a text that is the same for the same call. */
export function keyOf(path: string, body: Uint8Array): string {
  return `${path} ${body.join()}`
}

/** Takes the answer to a call that the document has begun; undefined for others. An answer serves once. */
export function takeBegun(path: string, body: Uint8Array): Promise<Response> | undefined {
  const begun = document.begunCalls
  if (!begun?.size) return undefined
  const key = keyOf(path, body)
  const answer = begun.get(key)
  begun.delete(key)
  return answer
}

/** Forgets what the document has begun: another page may come back to the same call later. */
export function forgetBegun(): void {
  document.begunCalls?.clear()
}
