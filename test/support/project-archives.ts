import { buffer } from 'node:stream/consumers'
import { extract, pack } from 'tar-stream'

/** The entries of an archive of a project, in their order. */
export type ArchiveEntries = Map<string, Buffer>

/** Reads an archive. */
export async function entriesOf(archive: Buffer): Promise<ArchiveEntries> {
  const entries: ArchiveEntries = new Map()
  const reader = extract()
  reader.end(archive)
  for await (const entry of reader) entries.set(entry.header.name, await buffer(entry))
  return entries
}

/** Writes an archive. */
export function archiveOf(entries: ArchiveEntries): Promise<Buffer> {
  const archive = pack()
  for (const [name, content] of entries) archive.entry({ name }, content)
  archive.finalize()
  return buffer(archive)
}
