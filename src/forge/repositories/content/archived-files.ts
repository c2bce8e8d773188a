import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { extract, type Pack, pack } from 'tar-stream'

/** A file of an archive. Its content has to be read before the next file. */
export interface ArchivedFile {
  /** With the folder of the archive. */
  readonly path: string
  readonly type: 'file' | 'symlink' | 'directory'
  /** Permissions. */
  readonly mode: number
  readonly time: Date
  readonly bytes: number
  /** The content of a file, or the target of a symbolic link. */
  readonly content: AsyncIterable<Buffer>
}

/** Yields the files of a tar archive of Git. */
export async function* filesOfTar(
  tar: AsyncIterable<Buffer>,
): AsyncGenerator<ArchivedFile, void, undefined> {
  const entries = extract()
  // A failure of the archive ends the loop below.
  const read = pipeline(Readable.from(tar), entries).catch(() => {})
  try {
    for await (const entry of entries) {
      const { name, type, mode = 0o644, mtime = new Date(0), size = 0, linkname } = entry.header
      const isLink = type === 'symlink' && typeof linkname === 'string'
      const target = Buffer.from(isLink ? linkname : '')
      yield {
        path: name,
        type: type === 'directory' || type === 'symlink' ? type : 'file',
        mode,
        time: mtime,
        bytes: isLink ? target.length : size,
        content: isLink ? Readable.from([target]) : (entry as AsyncIterable<Buffer>),
      }
      entry.resume()
    }
  } finally {
    entries.destroy()
    await read
  }
}

/** Yields what a stream makes of chunks. */
export async function* throughStream(
  chunks: AsyncIterable<Buffer>,
  stream: Duplex,
): AsyncGenerator<Buffer, void, undefined> {
  // A failure of the chunks ends the loop below.
  const passed = pipeline(chunks, stream).catch(() => {})
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } finally {
    stream.destroy()
    await passed
  }
}

/** Writes files as a compressed tar archive. */
export async function* tarArchive(
  files: AsyncIterable<ArchivedFile>,
): AsyncGenerator<Buffer, void, undefined> {
  const archive = pack()
  const write = async () => {
    for await (const file of files) await add(archive, file)
    archive.finalize()
  }
  const written = write().catch((error: Error) => archive.destroy(error))
  try {
    yield* throughStream(archive as AsyncIterable<Buffer>, createGzip())
  } finally {
    archive.destroy()
    await written
  }
}

async function add(archive: Pack, file: ArchivedFile): Promise<void> {
  const { path, type, mode, time, bytes, content } = file
  const header = { name: path, type, mode, mtime: time, uid: 0, gid: 0 }
  if (type === 'file') return pipeline(content, archive.entry({ ...header, size: bytes }))
  const target: Buffer[] = []
  for await (const chunk of content) target.push(chunk)
  const link = type === 'symlink' ? { linkname: Buffer.concat(target).toString() } : {}
  return new Promise((resolve, reject) => {
    archive.entry({ ...header, ...link }, (error) => (error ? reject(error) : resolve()))
  })
}
