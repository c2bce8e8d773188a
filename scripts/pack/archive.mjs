import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import tar from 'tar-stream'

/**
 * A file of an archive.
 * @typedef {{ path: string, content: string | Buffer, isProgram?: boolean }} ArchiveEntry
 */

/** The time of all files, so that the same files give the same bytes (1 January 2000). */
const TIME = new Date(946_684_800_000)

/**
 * Returns a gzipped tar archive with one folder.
 * @param {string} folder
 * @param {readonly ArchiveEntry[]} entries in any order
 */
export async function archive(folder, entries) {
  const pack = tar.pack()
  const bytes = buffer(pack.pipe(createGzip({ level: 9 })))
  const sorted = [...entries].sort((one, other) => (one.path < other.path ? -1 : 1))
  for (const { path, content, isProgram } of sorted) {
    const header = { name: `${folder}/${path}`, mtime: TIME, mode: isProgram ? 0o755 : 0o644 }
    await new Promise((resolve, reject) => {
      pack.entry(header, content, (error) => (error ? reject(error) : resolve(undefined)))
    })
  }
  pack.finalize()
  return bytes
}
