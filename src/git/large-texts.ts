import { createInterface } from 'node:readline'
import { spawnGit } from './child-process.ts'

/**
 * Largest commit or tag. They are read whole, by whoever lists them, and nobody writes as much; but a pack of a few KiB can have one
 * of many hundred MiB, which takes down a process that makes a string of it.
 */
export const MAX_TEXT_BYTES = 1024 * 1024

/**
 * Looks for a commit or tag that is larger than one may be among new objects, of which git reads no more than the headers.
 *
 * @param repository path of what the objects are for.
 * @param objects path of the folder that they are in; with the folders that it borrows from.
 * @returns the id of one; undefined when there is none.
 */
export async function findLargeText(repository: string, objects: string): Promise<string | undefined> {
  const format = '%(objecttype) %(objectsize) %(objectname)'
  const git = spawnGit(['cat-file', '--batch-all-objects', '--unordered', `--batch-check=${format}`], {
    repository,
    env: { GIT_OBJECT_DIRECTORY: objects },
  })
  git.stdin.end()
  for await (const line of createInterface({ input: git.stdout })) {
    const [type, bytes, id] = line.split(' ')
    if ((type !== 'commit' && type !== 'tag') || Number(bytes) <= MAX_TEXT_BYTES) continue
    git.stop()
    return id
  }
  const { code, stderr } = await git.exited
  if (code !== 0) throw new Error(`git cat-file failed: ${stderr}`)
  return undefined
}
