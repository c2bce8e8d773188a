/** A file in Git LFS, as described by its pointer file. */
export interface LfsPointer {
  /** SHA-256 of the file, as hexadecimal digits. */
  readonly oid: string
  /** Size of the file. */
  readonly bytes: number
}

/**
 * The size limit of pointer files, exclusive (git-lfs specification, docs/spec.md, "The Pointer").
 */
const MAX_POINTER_BYTES = 1024

const VERSION = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n/
const OID = /^oid sha256:([0-9a-f]{64})$/m
const SIZE = /^size (\d{1,15})$/m

/** Parses a pointer file of Git LFS. Returns undefined for any other content. */
export function parseLfsPointer(content: Buffer): LfsPointer | undefined {
  if (content.length >= MAX_POINTER_BYTES) return undefined
  const text = content.toString('latin1')
  const [oid, size] = [OID.exec(text)?.[1], SIZE.exec(text)?.[1]]
  return VERSION.test(text) && oid !== undefined && size !== undefined
    ? { oid, bytes: Number(size) }
    : undefined
}
