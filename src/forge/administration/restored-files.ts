import { join } from 'node:path'
import { ATTACHMENTS_ENTRY, type Progress, REPOSITORIES_ENTRY } from './archive.ts'
import { type ArchiveEntry, makeEntry, RestoreError } from './archive-reader.ts'

/** Creates a file, a folder or a hard link of a repository, or an attachment. */
export async function restoreFile(
  entry: ArchiveEntry,
  folder: string,
  progress: Progress,
): Promise<void> {
  const { name, type, linkname } = entry.head
  const path = join(folder, pathOf(name))
  if (type === 'link' || type === 'directory') {
    const target = type === 'link' ? join(folder, pathOf(linkname ?? '')) : ''
    await entry.skip()
    await makeEntry(type, path, target)
  } else if (type === 'file') {
    await entry.writeTo(path)
  } else {
    throw unexpected(name)
  }
  if (name.startsWith(ATTACHMENTS_ENTRY)) progress.attachments += 1
  else if (type !== 'directory') progress.files += 1
  // A backup begins each repository with this folder.
  else if (name.endsWith('.git/objects')) progress.repositories += 1
}

/** Returns the path of an entry in the data folder, never outside of it. */
function pathOf(name: string): string {
  const isInside = name.split('/').every((component) => component !== '..' && component !== '')
  // tar-stream leaves the slash at the end of a folder out.
  const isKnown = [REPOSITORIES_ENTRY, ATTACHMENTS_ENTRY].some((folder) => name.startsWith(folder))
  if (!isKnown || !isInside) throw unexpected(name)
  return name
}

function unexpected(name: string): RestoreError {
  return new RestoreError(`the archive contains an unexpected entry: ${name}`)
}
