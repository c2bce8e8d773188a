import { join } from 'node:path'
import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit } from '../processes/child-process.ts'
import type { GitProcesses } from '../processes/running-processes.ts'

/** Enough to walk the new commits of a large push. */
const TIMEOUT_MS = 60_000

/**
 * Returns the path at which new commits have an object (git-rev-list(1), `--objects`).
 *
 * @param repository path of the repository.
 * @param objects path of the folder of the new objects.
 * @param tips ids of the newest commits.
 * @returns undefined if no new commit has the object.
 */
export async function findPathOf(
  processes: GitProcesses,
  { repository, objects }: { readonly repository: string; readonly objects: string },
  tips: readonly string[],
  id: string,
): Promise<string | undefined> {
  const args = ['rev-list', '--objects', '--stdin', '--not', '--all']
  const input = tips.map((tip) => `${tip}\n`).join('')
  const options = {
    processes,
    repository,
    env: {
      GIT_OBJECT_DIRECTORY: objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository, 'objects'),
    },
    timeoutMs: TIMEOUT_MS,
  }
  const chunks = printedByGit(args, options, input)
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line())
      if (line.startsWith(`${id} `)) return line.slice(id.length + 1)
    return undefined
  } finally {
    await chunks.return()
  }
}
