/** The output of a process: complete, or as it arrives if it is large. */
export type Output =
  | { readonly whole: Buffer; readonly chunks?: undefined }
  | { readonly whole?: undefined; readonly chunks: AsyncIterable<Buffer> }

/** Waits for the end of an output, or until it has more than `maxBytes`. */
export async function readSmallOutput(
  output: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<Output> {
  const rest = output[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let bytes = 0
  for (let item = await rest.next(); !item.done; item = await rest.next()) {
    chunks.push(item.value)
    bytes += item.value.length
    if (bytes > maxBytes) return { chunks: continued(chunks, rest) }
  }
  return { whole: Buffer.concat(chunks, bytes) }
}

async function* continued(
  chunks: readonly Buffer[],
  rest: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks
    for (let item = await rest.next(); !item.done; item = await rest.next()) yield item.value
  } finally {
    await rest.return?.()
  }
}
