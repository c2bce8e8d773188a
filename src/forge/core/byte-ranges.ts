import { DomainError } from './errors.ts'

/** A range of bytes. Both ends are inclusive. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

/**
 * Reads a Range header with one range of bytes (RFC 9110 section 14.1.2). Multiple ranges, other
 * units and invalid ranges are ignored, as the section allows. The package `range-parser` refuses a
 * range that ends before it starts, which the section calls invalid.
 *
 * @returns undefined for the whole file
 */
export function readRange(text: string, bytes: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text.trim()) ?? []
  if (from === '' && to === '') return undefined
  const isSuffix = from === ''
  if (!isSuffix && to !== '' && Number(to) < Number(from)) return undefined
  const first = isSuffix ? Math.max(0, bytes - Number(to)) : Number(from)
  if (first >= bytes) throw new DomainError('RANGE_NOT_SATISFIABLE', { bytes: String(bytes) })
  return { first, last: isSuffix || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1) }
}

/** Yields the bytes of a range, and closes the stream after the last one. */
export async function* partOf(
  chunks: AsyncIterable<Buffer>,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer, void, undefined> {
  let position = 0
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, first - position), Math.max(0, last + 1 - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position > last) return
  }
}
