/** A file that Git LFS keeps elsewhere, as the pointer in its place says. */
export interface LfsPointer {
  /** SHA-256 of the file, in hexadecimal. */
  readonly oid: string
  /** Of the file. */
  readonly bytes: number
}

/** Pointers must be smaller (git-lfs specification, docs/spec.md, "The Pointer"). */
const MAX_POINTER_BYTES = 1024

const VERSION = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n/
const OID = /^oid sha256:([0-9a-f]{64})$/m
const SIZE = /^size (\d{1,15})$/m

/** Reads the content of a file as a pointer of Git LFS; undefined for any other content. */
export function parseLfsPointer(content: Buffer): LfsPointer | undefined {
  if (content.length >= MAX_POINTER_BYTES) return undefined
  const text = content.toString('latin1')
  const [oid, size] = [OID.exec(text)?.[1], SIZE.exec(text)?.[1]]
  return VERSION.test(text) && oid !== undefined && size !== undefined
    ? { oid, bytes: Number(size) }
    : undefined
}
